"""The program: ``rookery``, and ``python -m rookery``."""

from __future__ import annotations

from rookery.quick_python_import import collect_rarely, import_quickly


def main() -> None:
    collect_rarely()
    import_quickly("rookery.cli").main()


if __name__ == "__main__":
    main()

// Runs a plugin as OpenCode does: what happens is read from standard input, a line each, and
// what comes of it is written to standard output.

import readline from "node:readline"

const say = (said) => process.stdout.write(`${JSON.stringify(said)}\n`)

const client = {
  session: { get: async ({ path }) => ({ data: { parentID: path.id.split("-below-")[1] } }) },
  _client: {
    post: async ({ url, body }) => {
      say({ posted: url, body })
      return {}
    },
  },
}

const { Rookery } = await import(process.argv[2])
const { Rookery: Again } = await import(`${process.argv[2]}?again`)
const hooks = await Rookery({ client, directory: "/code/project" })
say({ loaded: Object.keys(hooks), again: Object.keys(await Again({ client, directory: "/code/project" })) })

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { number, hook, given } = JSON.parse(line)
  hooks[hook](...given).then(
    () => say({ number }),
    (error) => say({ number, refused: error.message }),
  )
}

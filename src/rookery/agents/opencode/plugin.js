// Reports what OpenCode does to Rookery's daemon, and passes the daemon's decisions to OpenCode.
//
// It uses the protocol of hook.py and the payloads of Claude's hooks, which
// agents/opencode/hooks.py reads. It runs inside OpenCode, so none of its errors may stop the
// agent. Only tool calls wait for the daemon, and never without a time limit.

import { randomBytes } from "node:crypto"
import { promises as files, readFileSync } from "node:fs"
import net from "node:net"
import path from "node:path"

// Filled in when this file is written. HOOK identifies the file as Rookery's.
const HOOK = "@rookery-hook@"
const DOOR = "@rookery-door@"
const SPOOL = "@rookery-spool@"

// The variable with the password of OpenCode's server, if it has one.
const PASSWORD = "OPENCODE_SERVER_PASSWORD"

// The protocol version; see hook_protocol.py.
const VERSION = "v2"

// Milliseconds: for the daemon to accept a call; to wait for a decision; for a new daemon to
// start after one died while deciding; and between two attempts.
const ACCEPT_TIMEOUT_MS = 2_000
const DECISION_TIMEOUT_MS = 350_000
const RESTART_TIMEOUT_MS = 30_000
const RETRY_MS = 200

// Milliseconds without calls to a daemon that did not accept one in time: each would time out.
const PAUSE_MS = 5_000

// Maximum characters of the agent's last message.
const MAX_ANSWER_CHARS = 100_000

// Maximum bytes of a payload that the daemon accepts; see hook.py.
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024

// The parts of the daemon's answers; see hook.py.
const TAKEN = "taken\n"
const WAIT = "wait "
const DECIDED = "decided\n"

// The reason of a denial while there is no daemon and its offline answers are damaged.
const UNDECIDED =
  "Rookery cannot decide this: it does not run, and its offline answers are damaged."

let pausedUntil = 0
let number = 0
let queue = Promise.resolve()

export const Rookery = async ({ client, directory }) => {
  if (!path.isAbsolute(DOOR) || !isFirst(directory)) return {}
  return hooks(new Conversation(client, directory))
}

// The plugin may be installed for all sessions and also given to this session: only the first
// one that is loaded works.
function isFirst(directory) {
  const loaded = (globalThis[Symbol.for("rookery")] ??= new Map())
  const place = `${DOOR} ${directory}`
  if (!loaded.has(place)) loaded.set(place, import.meta.url)
  return loaded.get(place) === import.meta.url
}

function hooks(conversation) {
  // An error in a report is ignored: the event is then not reported.
  const quietly = (hear) => (...told) => (async () => hear(...told))().catch(() => undefined)
  return {
    event: quietly(({ event }) => HEARD[event.type]?.(conversation, event.properties)),
    "chat.message": quietly((input, output) => conversation.prompted(input, output)),
    // After an error the tool must not run: a rule may deny the call that was not checked.
    "tool.execute.before": async (input, output) => {
      const refusal = await conversation.mayRun(input, output).catch(whyUndecided)
      if (refusal) throw new Error(refusal)
    },
    "tool.execute.after": quietly(async (input) => conversation.ran(input)),
    // With the password of OpenCode's server, a command could answer permission requests.
    "shell.env": async (_, output) => {
      if (process.env[PASSWORD]) output.env[PASSWORD] = ""
    },
  }
}

const HEARD = {
  "session.created": (us, { info }) => us.created(info),
  "session.status": (us, told) => us.stands(told),
  "session.error": (us, told) => us.failed(told),
  "session.idle": (us, { sessionID }) => us.stopped(sessionID),
  "message.updated": (us, { info }) => us.wrote(info),
  "message.part.updated": (us, { part }) => us.said(part),
  "permission.asked": (us, told) => us.asks(told, us.callOf(told)),
  "permission.replied": (us, { requestID, reply }) => us.answered(requestID, reply === "reject"),
  "question.asked": (us, told) =>
    us.asks(told, { tool_name: "question", tool_input: { questions: told.questions } }),
  "question.replied": (us, { requestID }) => us.answered(requestID, false),
  "question.rejected": (us, { requestID }) => us.answered(requestID, true),
}

// The state of one OpenCode process. It may have several conversations, with those of subagents
// below them. For Rookery it is one session, whose native id is the id of the conversation that
// last received a prompt.
class Conversation {
  current = ""
  turn = null // the outcome of the running turn so far; null if no turn runs
  prompts = [] // the ids of the prompts that have no answer yet, in order
  words = { message: "", parts: new Map() } // the last message, and the prompt that it answers
  parents = new Map() // the parent of each conversation; empty if it has none
  calls = new Map() // tool calls, by id
  waiting = new Set() // the calls that wait for a decision
  asked = new Map() // the requests that OpenCode shows to its user, by id
  counted = new Set() // the messages whose tokens were reported

  constructor(client, directory) {
    Object.assign(this, { client, directory })
  }

  // Sends an event for which no tool call waits. If that fails, the event is lost.
  tell(event, fields, listener) {
    return this.ask(event, fields, listener).catch(() => "")
  }

  ask(event, fields, listener) {
    const told = { session_id: this.current, cwd: this.directory, hook_event_name: event }
    return tell({ ...told, ...fields }, listener)
  }

  async prompted(input, output) {
    if ((await this.rootOf(input.sessionID)) !== input.sessionID) return // a subagent's task
    const { providerID, modelID } = input.model ?? {}
    this.meet(input.sessionID, modelID && `${providerID}/${modelID}`)
    const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
    const prompt = typed.map((part) => part.text).join("\n")
    if (this.turn && !prompt) return // OpenCode continues by itself after compaction
    this.begin(prompt, output.message?.id)
  }

  begin(prompt, prompt_id) {
    if (!this.turn) this.listen("")
    if (prompt_id) this.prompts.push(prompt_id)
    this.tell("UserPromptSubmit", { prompt, prompt_id })
  }

  // Makes a conversation the current one.
  meet(root, model = "") {
    if (this.current === root) return
    if (this.current) this.tell("SessionEnd", { reason: "clear" })
    this.current = root
    this.turn = null
    this.prompts = []
    this.tell("SessionStart", { model })
  }

  async rootOf(id) {
    for (let step = 0; step < 20; step++) {
      if (!this.parents.has(id)) this.parents.set(id, await this.parentOf(id))
      const parent = this.parents.get(id)
      if (!parent) return id
      id = parent
    }
    return id
  }

  // Asks OpenCode: this plugin has seen no event of conversations from before its start.
  async parentOf(id) {
    const ask = async () => (await this.client.session.get({ path: { id } })).data?.parentID
    return (await Promise.race([ask().catch(() => ""), pause(ACCEPT_TIMEOUT_MS)])) || ""
  }

  created(info) {
    this.parents.set(info.id, info.parentID || "")
    if (info.parentID && this.current) this.tell("SubagentStart", { agent_type: info.agent ?? "" })
  }

  stands({ sessionID, status }) {
    if (sessionID !== this.current) return
    if (status.type === "retry") this.tell("Notification", { message: status.message })
    // Without a prompt, a command such as /compact makes OpenCode busy.
    if (status.type === "busy" && !this.turn) this.begin("")
  }

  failed({ sessionID, error }) {
    this.letGo(sessionID)
    if (sessionID === this.current && this.turn) this.turn.error = error ?? {}
  }

  // OpenCode reports this at the end of every turn, and twice after an interruption.
  stopped(id) {
    this.letGo(id)
    if (this.parents.get(id) && this.current) this.tell("SubagentStop")
    const { turn } = this
    if (id !== this.current || !turn) return
    this.turn = null
    const prompts = this.prompts.splice(0)
    const said = this.lastWords()
    if (turn.error?.name === "MessageAbortedError" || turn.isRefused) {
      this.tell("Interrupt")
    } else if (turn.error) {
      const error = turn.error.data?.message || turn.error.name || "It failed."
      this.tell("StopFailure", { error, ...said })
    } else if (prompts.length) {
      for (const prompt_id of prompts) this.tell("Stop", { ...said, prompt_id })
    } else this.tell("Stop", said)
  }

  lastWords() {
    const words = [...this.words.parts.values()].join("\n").trim()
    return { last_assistant_message: words.slice(0, MAX_ANSWER_CHARS) }
  }

  // Reports that a prompt is answered although OpenCode is not idle: it continues with a prompt
  // that was typed meanwhile, and is idle only once all prompts are answered.
  answeredBefore(parent) {
    const { prompt, isFinal } = this.words
    const at = this.prompts.indexOf(prompt)
    if (at < 0 || prompt === parent || !isFinal) return
    this.prompts.splice(at, 1)
    this.tell("Stop", { ...this.lastWords(), prompt_id: prompt })
  }

  // A turn is over: cancel the calls and requests of the turn that wait for a decision.
  letGo(id) {
    const isOf = (each) => id === each.session || id === each.root
    for (const call of this.waiting) if (isOf(call)) call.end.abort()
    for (const [key, call] of this.calls) if (isOf(call)) this.calls.delete(key)
    for (const [key, asked] of this.asked) {
      if (isOf(asked) && this.asked.delete(key)) asked.end.abort()
    }
  }

  wrote({ id, role, sessionID, time, error, tokens, cost, parentID, finish }) {
    if (role !== "assistant") return
    if (sessionID === this.current && this.turn) {
      if (this.words.message !== id && !time.completed) {
        this.answeredBefore(parentID)
        this.listen(id, parentID)
      }
      if (this.words.message === id && error) this.turn.error = error
      if (this.words.message === id && finish) this.words.isFinal = finish !== "tool-calls"
    }
    if (!time.completed || !tokens || !this.current || this.counted.has(id)) return
    this.counted.add(id)
    this.tell("Usage", { message_id: id, tokens, cost, is_subagent: sessionID !== this.current })
  }

  // Makes a message the last one. An error of an earlier message did not end the turn.
  listen(message, prompt) {
    this.words = { message, prompt, parts: new Map() }
    this.turn = { error: null, isRefused: false }
  }

  said(part) {
    if (part.type !== "text" || part.synthetic || part.messageID !== this.words.message) return
    this.words.parts.set(part.id, part.text)
  }

  // Returns why a call must not run; empty if it may run.
  async mayRun({ tool, sessionID, callID }, { args }) {
    const root = await this.rootOf(sessionID)
    if (!this.current) this.meet(root)
    const call = { session: sessionID, root, end: new AbortController(), tool, args }
    this.calls.set(callID, call)
    this.waiting.add(call)
    const told = { tool_name: tool, tool_input: args, tool_use_id: callID }
    const asked = this.ask("PreToolUse", told, { end: call.end.signal })
    const said = await asked.finally(() => this.waiting.delete(call))
    if (call.end.signal.aborted) return "It was interrupted while it was being decided."
    const { decision = "allow", reason } = read(said)
    return decision === "allow" ? "" : reason || "Denied without a reason."
  }

  ran({ tool: tool_name, callID: tool_use_id, args }) {
    const tool_input = this.calls.get(tool_use_id)?.args ?? args
    this.calls.delete(tool_use_id)
    this.tell("PostToolUse", { tool_name, tool_input, tool_use_id })
  }

  // Returns the tool call that OpenCode asks about, as it was reported before.
  callOf({ permission, patterns, metadata, tool }) {
    const call = this.calls.get(tool?.callID)
    const unknown = { tool: permission, args: { ...metadata, patterns } }
    const { tool: tool_name, args: tool_input } = call ?? unknown
    // The request alone does not have the whole input of the call: the folder is missing.
    const is_partial = call ? undefined : true
    return { permission, tool_name, tool_input, tool_use_id: tool?.callID, is_partial }
  }

  // The dialog is already on the screen; the first answer counts, from there or from Rookery.
  async asks({ id, sessionID }, call) {
    if (!this.current) return
    const root = this.parents.get(sessionID) ? this.current : sessionID
    const asked = { session: sessionID, root, end: new AbortController() }
    this.asked.set(id, asked)
    const listener = { end: asked.end.signal, waits: () => (asked.waits = true) }
    const said = await this.tell("PermissionRequest", { ...call, request_id: id }, listener)
    if (!said || asked.end.signal.aborted) return
    asked.isOurs = true
    await reply(this.client, { id, sessionID }, read(said))
  }

  answered(id, isRefused) {
    const asked = this.asked.get(id)
    if (!this.asked.delete(id) || asked.isOurs) return
    asked.end.abort()
    if (isRefused && this.turn) this.turn.isRefused = true
    // A daemon that waits sees the answer by the aborted connection. While OpenCode shows
    // further requests, the session still waits for its user.
    if (!asked.waits && this.asked.size === 0) this.tell("PermissionSettled")
  }
}

async function reply(client, { id, sessionID }, { decision, reason, answers }) {
  // Only OpenCode's internal client can send a reason or answer a question. It may be missing.
  const post = async (url, body) =>
    client._client.post({ url, body, headers: { "Content-Type": "application/json" } })
  if (id.startsWith("que_")) return post(`/question/${id}/reply`, { answers })
  const said = decision === "allow" ? { reply: "once" } : { reply: "reject", message: reason }
  const done = await post(`/permission/${id}/reply`, said).catch((error) => ({ error }))
  if (!done.error) return
  const where = { id: sessionID, permissionID: id }
  await client.postSessionIdPermissionsPermissionId({ path: where, body: { response: said.reply } })
}

// Parses the daemon's decision; one that cannot be parsed denies.
function read(said) {
  if (!said) return {}
  try {
    const verdict = JSON.parse(said)
    if (typeof verdict?.decision === "string") return verdict
  } catch {}
  return { decision: "deny", reason: "What Rookery says of it cannot be read." }
}

// Returns why a call that could not be decided must not run; empty if Rookery was removed.
async function whyUndecided(error) {
  if (await isGone()) return ""
  return `Rookery could not be asked about this call: ${String(error?.message ?? error)}`
}

// Returns whether Rookery's home was removed. Another error, such as too many open files, does
// not show that.
const isGone = () =>
  files.stat(path.dirname(SPOOL)).then(
    () => false,
    ({ code }) => code === "ENOENT" || code === "ENOTDIR",
  )

// Sends a call to the daemon and returns its answer. Calls are sent one after the other, but a
// call that waits for a person does not hold up the next ones. `listener` can abort the call,
// and is told when a person is asked.
async function tell(payload, listener = {}) {
  const [call, before] = [compose(payload), queue]
  let next
  queue = new Promise((resolve) => (next = resolve))
  await before
  return converse(payload, call, { ...listener, next }).finally(next)
}

async function converse(payload, call, listener) {
  const answer = Date.now() < pausedUntil ? "" : await speak(call, DECISION_TIMEOUT_MS, listener)
  if (answer.startsWith(TAKEN)) return answer.slice(TAKEN.length)
  if (answer.startsWith(WAIT)) return insist(call, answer, listener)
  if (listener.end?.aborted) return ""
  await spool(call)
  return sayInAbsence(payload)
}

// Returns one line that identifies the caller, followed by the payload, as hook.py does.
function compose(payload) {
  const body = Buffer.from(JSON.stringify(payload))
  const moment = BigInt(Date.now()) * 1_000_000n + BigInt(number++ % 1_000_000)
  const key = `${String(moment).padStart(20, "0")}-${randomBytes(8).toString("hex")}`
  const { ROOKERY_BADGE, TMUX_PANE, TMUX = "" } = process.env
  const server = TMUX.split(",").slice(0, -2).join(",").replaceAll("\n", "")
  const who = [ROOKERY_BADGE || "-", TMUX_PANE || "-", lineage() || "-", server || "-"]
  const line = [VERSION, key, "opencode", body.length, ...who].join(" ")
  return { key, bytes: Buffer.concat([Buffer.from(`${line}\n`), body]) }
}

// Returns this process and its ancestors, each with its start time, in the format of hook.py.
function lineage() {
  const found = []
  for (let pid = process.pid; pid > 1 && found.length < 4; ) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(")").pop().trim().split(" ")
      found.push(`${pid}:${fields[19]}`)
      pid = Number(fields[1])
    } catch {
      break
    }
  }
  return found.join(",")
}

// Returns the daemon's whole answer; empty if no daemon answers in time.
function speak(call, timeout, { end, next, waits }) {
  return new Promise((resolve) => {
    let answer = ""
    const connection = net.connect(DOOR).setEncoding("utf8")
    const over = () => {
      clearTimeout(timer)
      end?.removeEventListener("abort", over)
      connection.end() // not destroyed: the daemon must see that the caller has left
      after(ACCEPT_TIMEOUT_MS, () => connection.destroy())
      resolve(answer)
    }
    let timer = after(ACCEPT_TIMEOUT_MS, () => {
      if (!answer) pausedUntil = Date.now() + PAUSE_MS
      over()
    })
    connection.on("error", over).on("close", over)
    connection.on("connect", () => connection.write(call.bytes))
    connection.on("data", (part) => {
      const waited = answer.startsWith(WAIT)
      answer += part
      if (waited || !answer.startsWith(WAIT)) return
      clearTimeout(timer)
      timer = after(timeout, over)
      waits?.()
      next()
    })
    end?.addEventListener("abort", over)
    if (end?.aborted) over()
  })
}

// Returns the decision; if the daemon dies meanwhile, asks the next one about the same call.
async function insist(call, answer, listener) {
  const over = Date.now() + DECISION_TIMEOUT_MS
  const fallback = answer.slice(WAIT.length).split("\n")[0]
  for (let lost = 0; !listener.end?.aborted; ) {
    const said = answer.slice(answer.indexOf("\n") + 1)
    if (answer.startsWith(TAKEN)) return said
    if (answer.startsWith(WAIT) && said.startsWith(DECIDED)) return said.slice(DECIDED.length)
    const now = Date.now()
    if (answer || !lost) lost = now
    if (now > Math.min(over, lost + RESTART_TIMEOUT_MS)) return fallback
    await pause(RETRY_MS)
    answer = await speak(call, Math.max(over - now, ACCEPT_TIMEOUT_MS), listener)
  }
  return ""
}

// Stores a call for the next daemon; the file appears complete or not at all. If the daemon would
// refuse the payload, only the first line is stored, so that the loss is known.
async function spool({ key, bytes }) {
  const name = path.join(SPOOL, key)
  const line = bytes.indexOf("\n") + 1
  const kept = bytes.length - line > MAX_PAYLOAD_BYTES ? bytes.subarray(0, line) : bytes
  try {
    await files.writeFile(`${name}.part`, kept, { flag: "wx", mode: 0o600, flush: true })
    await files.rename(`${name}.part`, name)
    const folder = await files.open(SPOOL) // a rename is durable only once its folder is synced
    await folder.sync().finally(() => folder.close())
  } catch {
    await files.unlink(`${name}.part`).catch(() => undefined)
  }
}

// Returns the offline answer that the daemon stored for a call that needs a decision. If the
// answers are missing or damaged, no rule is known, so no tool may run.
async function sayInAbsence({ hook_event_name: event, tool_name: tool = "" }) {
  const home = path.dirname(SPOOL)
  const isMeant = ({ event: of, tools }) => of === event && tools.some((glob) => fits(glob, tool))
  try {
    const left = verified(await files.readFile(path.join(home, "absence.json")))
    return (JSON.parse(left).opencode ?? []).find(isMeant)?.say ?? ""
  } catch {
    if (event !== "PreToolUse" || (await isGone())) return ""
    return JSON.stringify({ decision: "deny", reason: UNDECIDED })
  }
}

// Returns the offline answers if their checksum is right: the count and the sum of the bytes
// before it, as in hook.py.
function verified(stored) {
  const before = stored.subarray(0, Math.max(stored.lastIndexOf('"checksum": "'), 0))
  const sum = before.reduce((total, byte) => total + byte, 0)
  const end = stored.subarray(before.length).toString()
  if (end !== `"checksum": "${before.length} ${sum}"}\n`) throw new Error("damaged")
  return stored.toString()
}

// Matches a glob as Python's fnmatchcase does.
function fits(glob, text) {
  const pattern = glob.replace(/\[(!?)(\]?[^\]]*)\]|[^]/g, (part, not, inside) => {
    if (inside) return `[${not && "^"}${inside.replace(/[\\\]^[]/g, "\\$&")}]`
    return { "*": "[^]*", "?": "[^]" }[part] ?? part.replace(/[\\^$.+()[\]{}|]/, "\\$&")
  })
  return new RegExp(`^${pattern}$`).test(text)
}

const pause = (milliseconds) => new Promise((resolve) => after(milliseconds, resolve))

// Runs `act` later. The timer does not keep OpenCode from exiting.
function after(milliseconds, act) {
  const timer = setTimeout(act, milliseconds)
  timer.unref?.()
  return timer
}

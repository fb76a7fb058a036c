// Asks hookgate about every tool call of opencode, and about every result.
// Written by gateway init opencode, which replaces it.
//
// Whatever goes wrong throws, and opencode does not run a call whose hook threw;
// a result that could not be asked about is withheld.

const url = "http://127.0.0.1:8080/v1/clients/opencode"
const patience = 25_000 // ms; the gateway's own budget is smaller

async function ask(event, directory, input, more) {
  const call = { agent_id: input.sessionID, tool_call_id: input.callID, tool_name: input.tool }
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ hook_schema: 1, event, workspace: directory, ...call, ...more }),
    redirect: "error",
    signal: AbortSignal.timeout(patience),
  })
  if (response.status !== 200) throw new Error(`hookgate answered with status ${response.status}`)
  const answer = await response.json()
  const decisions = ["allow", event === "pre_tool_use" ? "modify" : "replace"]
  if (!decisions.includes(answer.decision)) throw new Error(answer.reason || "denied by hookgate")
  return answer
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

export const Hookgate = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = await ask("pre_tool_use", directory, input, { input: output.args ?? {} })
    if (answer.decision === "allow") return
    if (!isObject(answer.input)) throw new Error("hookgate answered with an input that is no object")
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, answer.input)
  },
  "tool.execute.after": async (input, output) => {
    const shown = { title: output.title, output: output.output, metadata: output.metadata }
    const show = (text) => Object.assign(output, { title: "hookgate", output: text, metadata: {} })
    try {
      const answer = await ask("post_tool_use", directory, input, { input: input.args ?? {}, output: shown, is_error: false })
      if (answer.decision === "allow") return
      const instead = isObject(answer.output) && "output" in answer.output ? answer.output.output : answer.output
      show(typeof instead === "string" ? instead : JSON.stringify(instead))
    } catch (error) {
      show(`withheld: ${error.message}`)
    }
  },
})

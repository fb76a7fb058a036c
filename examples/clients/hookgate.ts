// A hookgate client for TypeScript that fails closed: any failure is a deny.

export type Call = {
  event: "pre_tool_use" | "post_tool_use"; workspace: string; agent_id: string; tool_call_id: string
  tool_name: string; input: unknown; output?: unknown; is_error?: boolean
}
export type Decision =
  | { decision: "allow" }
  | { decision: "deny"; reason: string }
  | { decision: "modify"; input: Record<string, unknown> }
  | { decision: "replace"; output: unknown; is_error?: boolean }

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value)

export async function ask(call: Call, url = "http://127.0.0.1:8080/v1/decide", patience = 25_000): Promise<Decision> {
  try {
    const response = await fetch(url, {
      method: "POST", headers: { "Content-Type": "application/json" }, redirect: "error",
      body: JSON.stringify({ hook_schema: 1, ...call }), signal: AbortSignal.timeout(patience),
    })
    if (response.status !== 200) throw new Error(`it answered with status ${response.status}`)
    const answer: any = await response.json() // judged below
    const rewrite = call.event === "pre_tool_use" ? "modify" : "replace"
    if (answer.decision === "deny") return { decision: "deny", reason: answer.reason ?? "denied" }
    if (answer.decision === "allow") return answer
    if (answer.decision !== rewrite) throw new Error("the answer is not a valid decision")
    if (rewrite === "modify" ? !isObject(answer.input) : !("output" in answer)) throw new Error("the rewrite is not valid")
    return answer
  } catch (error) {
    return { decision: "deny", reason: `hookgate could not be asked: ${(error as Error).message}` }
  }
}

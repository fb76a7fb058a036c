// A Lambda function that does for each tool, or each path, what its name says.
const allow = {decision: "allow"};

const acts = {
  "returns-a-decision": () => allow,
  "returns-a-response": () => ({statusCode: 200, headers: {}, body: JSON.stringify(allow), isBase64Encoded: false}),
  "returns-a-response-in-base64": () => ({statusCode: 200, body: btoa(JSON.stringify(allow)), isBase64Encoded: true}),
  "returns-an-error": () => ({statusCode: 503, body: JSON.stringify(allow)}),
  "returns-nothing": () => undefined,
  "returns-a-text": () => "allow",
  "throws": () => {
    throw new Error("CANARY");
  },
  "exits": () => process.exit(1),
  "overruns": () => new Promise((resolve) => setTimeout(resolve, 60_000)),
};

export async function handler(event) {
  return acts[event.tool_name ?? event.rawPath.slice(1)]();
}

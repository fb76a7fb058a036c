import {answer} from "./hook.mjs";

// handler serves a function URL, or an HTTP API with payload format 2.0, and the
// Invoke API, where the event is the call itself. It answers both in the same
// format, so a hooks entry for Invoke has unwrap: lambda_invoke.
export async function handler(event) {
  const {status, text} = event?.requestContext?.http ? await overHTTP(event) : await invoked(event);
  return {statusCode: status, headers: {"content-type": "application/json"}, body: text};
}

function overHTTP(event) {
  const body = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  return answer((name) => event.headers?.[name], body, process.env.HOOK_SECRETS);
}

// An invocation has no headers and so no signature: it is answered only if
// HOOK_SECRETS is none, and IAM alone controls who may invoke.
function invoked(event) {
  return answer(() => undefined, Buffer.from(JSON.stringify(event)), process.env.HOOK_SECRETS);
}

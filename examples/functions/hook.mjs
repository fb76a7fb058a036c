// A hook that fails closed, for every platform that runs JavaScript: Node 20 or
// newer, Deno, Workers. The entry file of each deployment passes it the requests
// of its platform.
//
// The hook denies what it does not understand. A request without a valid
// signature gets a status other than 200, which the gateway treats as a failure,
// and so as a deny too.

// policy decides about one call. Replace it with yours.
function policy(call) {
  if (call.event === "post_tool_use") {
    return reviewed(call.output);
  }
  if (call.tool_name !== "shell") {
    return deny(`this hook knows the tool shell and was asked about ${JSON.stringify(call.tool_name)}`);
  }
  const command = call.input?.command;
  if (typeof command !== "string") {
    return deny("input.command is not a string");
  }
  if (/\bprod/i.test(command)) {
    return deny("production is off limits");
  }
  if (/^npm (install|ci)\b[\w ./@^-]*$/.test(command) && !command.includes("--ignore-scripts")) {
    if (!survivesRewriting(call.input)) {
      return deny("the input has a number that JavaScript would change");
    }
    return {
      decision: "modify",
      input: {...call.input, command: `${command} --ignore-scripts`},
      reason: "packages run no scripts while they are installed",
    };
  }
  return {decision: "allow"};
}

// reviewed keeps the ids of AWS access keys from the model.
function reviewed(output) {
  const accessKey = /\bA(KIA|SIA)[A-Z2-7]{16}\b/g;
  if (typeof output === "string") {
    const redacted = output.replace(accessKey, "[access key]");
    return redacted === output ? {decision: "allow"} : {decision: "replace", output: redacted, reason: "an access key was redacted"};
  }
  return accessKey.test(JSON.stringify(output)) ? deny("the result contains an access key") : {decision: "allow"};
}

function deny(reason) {
  return {decision: "deny", reason};
}

// survivesRewriting reports whether JSON.stringify preserves every number of a
// parsed value: 9007199254740993 would change.
function survivesRewriting(value) {
  if (typeof value === "number") {
    return Number.isSafeInteger(value);
  }
  return value === null || typeof value !== "object" || Object.values(value).every(survivesRewriting);
}

// answer handles one request. header returns the value of a header by its name
// in lower case, body is the bytes as they arrived, and secrets is the setting
// HOOK_SECRETS: one or more whsec_… separated by spaces, or the word none if the
// platform itself lets in only the gateway.
export async function answer(header, body, secrets) {
  try {
    if (secrets === "none") {
      return decided(header, body);
    }
    const keys = await signingKeys(secrets);
    return (await isGenuine(header, body, keys)) ? decided(header, body) : said(401, deny("the request has no valid signature"));
  } catch (error) {
    console.error(String(error));
    return said(500, deny("the hook failed; its log says why"));
  }
}

// respond is answer for platforms with the fetch API.
export async function respond(request, secrets) {
  const limit = 16 << 20; // bytes, as in the gateway
  if (request.method !== "POST") {
    return new Response("use POST\n", {status: 405});
  }
  if (Number(request.headers.get("content-length")) > limit) { // before reading any of it
    return new Response("the request is too long\n", {status: 413});
  }
  const body = new Uint8Array(await request.arrayBuffer());
  const {status, text} = await answer((name) => request.headers.get(name), body, secrets);
  return new Response(text, {status, headers: {"content-type": "application/json"}});
}

function decided(header, body) {
  let call;
  try {
    call = JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(body));
  } catch {
    return said(400, deny("the request is not JSON"));
  }
  const fault = misunderstood(call);
  const decision = fault ? deny(fault) : policy(call);
  console.log(JSON.stringify({tool_call_id: call?.tool_call_id, decision: decision.decision}));
  const id = header("webhook-id"); // repeated, for gateways that bind answers to calls
  return said(200, id ? {...decision, webhook_id: id} : decision);
}

// misunderstood says why the hook does not understand a call.
function misunderstood(call) {
  if (call?.hook_schema !== 1) {
    return `hook_schema ${JSON.stringify(call?.hook_schema)} is unknown to this hook`;
  }
  if (typeof call.tool_name !== "string" || call.input === undefined) {
    return "the call has no tool_name or no input";
  }
  if (call.event === "pre_tool_use" || (call.event === "post_tool_use" && call.output !== undefined)) {
    return "";
  }
  return `event ${JSON.stringify(call.event)} is unknown to this hook, or lacks its output`;
}

function said(status, decision) {
  return {status, text: JSON.stringify(decision)};
}

// Signatures follow Standard Webhooks: HMAC-SHA256 of id.timestamp.body.

async function signingKeys(secrets) {
  const words = (secrets ?? "").split(/\s+/).filter(Boolean);
  if (words.length === 0 || !words.every((word) => word.startsWith("whsec_"))) {
    throw new Error("HOOK_SECRETS is neither a list of whsec_… nor none");
  }
  return Promise.all(words.map((word) => {
    const secret = bytesOf(word.slice("whsec_".length));
    if (secret.length < 24) {
      throw new Error("HOOK_SECRETS has a secret of fewer than 24 bytes");
    }
    return crypto.subtle.importKey("raw", secret, {name: "HMAC", hash: "SHA-256"}, false, ["verify"]);
  }));
}

async function isGenuine(header, body, keys) {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => header(`webhook-${name}`));
  const tolerance = 5 * 60; // seconds, either way
  if (!id || !/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance) {
    return false;
  }
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  for (const signature of (signatures ?? "").split(" ")) {
    if (!/^v1,[A-Za-z0-9+/]{43}=$/.test(signature)) {
      continue; // of another version, or malformed
    }
    for (const key of keys) {
      if (await crypto.subtle.verify("HMAC", key, bytesOf(signature.slice("v1,".length)), signed)) {
        return true;
      }
    }
  }
  return false;
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

// Runs the handler of ./index.mjs on Lambda's Runtime API, as AWS's Node runtime
// does.
import {pathToFileURL} from "node:url";

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
const {handler} = await import(pathToFileURL(`${process.cwd()}/index.mjs`));
for (;;) {
  const next = await fetch(`${api}/next`);
  const id = next.headers.get("lambda-runtime-aws-request-id");
  const event = await next.json();
  try {
    const result = await handler(event);
    await fetch(`${api}/${id}/response`, {method: "POST", body: JSON.stringify(result ?? null)});
  } catch (error) {
    const body = JSON.stringify({errorMessage: error.message, errorType: error.name, stackTrace: []});
    await fetch(`${api}/${id}/error`, {method: "POST", body, headers: {"lambda-runtime-function-error-type": "Unhandled"}});
  }
}

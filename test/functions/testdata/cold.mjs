// A Lambda function that takes two seconds to start.
await new Promise((resolve) => setTimeout(resolve, 2_000));

export async function handler() {
  return {statusCode: 200, body: JSON.stringify({decision: "allow"})};
}

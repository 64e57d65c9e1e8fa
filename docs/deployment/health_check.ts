/**
 * The health check of the image: exit code 0 if the service in the container says of itself that it
 * is well, else 1 with what it said. The service is asked at `HEALTH_URL`, or without that variable
 * at the default port of each, since only one of them is there.
 */

/** The default ports of solver and bridge, node, proxy, oracle, exchanges and console. */
const PORTS = [3000, 8545, 8546, 8550, 8560, 8600];

/** What an answer has to be: a service's own word for well, and of a bridge that its node answers. */
function isWell(text: string): boolean {
  if (text === "OK") return true; // a proxy
  const { status, rpc = true } = JSON.parse(text);
  return ["ok", "healthy"].includes(status) && rpc === true;
}

const url = Deno.env.get("HEALTH_URL");
const urls = url === undefined ? PORTS.map((port) => `http://127.0.0.1:${port}/health`) : [url];
const answer = await Promise.any(urls.map((each) => fetch(each)));
const text = await answer.text();
if (!answer.ok || !isWell(text)) {
  console.error(answer.status, text);
  Deno.exit(1);
}

/** A forwarder with nothing to it, one way or another: `proxy_plain_forwarder.ts WAY PORT NODE_PORT`. */
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";

type Forward = (text: string) => Promise<string>;

const [way, port, nodePort] = [Deno.args[0], Number(Deno.args[1]), Number(Deno.args[2])];
const host = "127.0.0.1";

const overFetch: Forward = async (body) => {
  const headers = { "content-type": "application/json" };
  return await (await fetch(`http://${host}:${nodePort}/`, { method: "POST", headers, body }))
    .text();
};

const agent = new Agent({ keepAlive: true });
const overAgent: Forward = (body) =>
  new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": body.length };
    const outgoing = request({ host, port: nodePort, method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => text += part);
      answer.on("end", () => resolve(text));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });

/** Own connections, one request at a time on each; it trusts that an answer comes in one piece. */
const idle: { socket: Socket; resolve: (text: string) => void }[] = [];
const overOwnPool: Forward = (body) =>
  new Promise((resolve) => {
    const connection = idle.pop() ?? open();
    connection.resolve = resolve;
    connection.socket.write(
      `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  });

function open() {
  const connection = { socket: connect(nodePort, host), resolve: (_text: string) => {} };
  connection.socket.setNoDelay(true);
  connection.socket.on("data", (part) => {
    idle.push(connection);
    const text = part.toString();
    connection.resolve(text.slice(text.indexOf("\r\n\r\n") + 4));
  });
  return connection;
}

const ways: Record<string, Forward> = {
  "fetch": overFetch,
  "node:http agent": overAgent,
  "own connections": overOwnPool,
};
const forward = ways[way ?? ""];
if (forward === undefined) throw new Error(`No way ${way}: ${Object.keys(ways).join(", ")}`);

Deno.serve({ hostname: host, port, onListen: () => {} }, async (request) => {
  const text = await request.text();
  JSON.parse(text);
  return new Response(await forward(text), { headers: [["content-type", "application/json"]] });
});

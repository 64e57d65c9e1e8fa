/**
 * A forwarder with nothing to it: `proxy_plain_forwarder.ts PORT NODE_PORT`. It keeps its
 * connections, sends one request at a time on each, and trusts that an answer comes in one piece.
 */
import { connect, type Socket } from "node:net";

const [port, nodePort = 0] = Deno.args.map(Number);
const hostname = "127.0.0.1";

const idle: Connection[] = [];

class Connection {
  resolve = (_text: string) => {};
  readonly #socket: Socket = connect(nodePort, hostname);

  constructor() {
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (part) => {
      const text = part.toString();
      idle.push(this);
      this.resolve(text.slice(text.indexOf("\r\n\r\n") + 4));
    });
  }

  send(body: string): void {
    this.#socket.write(
      `POST / HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  }
}

function forward(body: string): Promise<string> {
  return new Promise((resolve) => {
    const connection = idle.pop() ?? new Connection();
    connection.resolve = resolve;
    connection.send(body);
  });
}

Deno.serve({ hostname, port, onListen: () => {} }, async (request) => {
  const text = await request.text();
  JSON.parse(text);
  return new Response(await forward(text), { headers: [["content-type", "application/json"]] });
});

/**
 * A forwarder with nothing to it: `proxy_plain_forwarder.ts PORT NODE_PORT [undici]`. It keeps its
 * connections, sends one request at a time on each, and trusts that an answer comes in one piece.
 * With `undici` the library has the connections, with its cheapest call and without any timeout.
 */
import { connect, type Socket } from "node:net";
import { Client, type Dispatcher } from "undici";

const [port, nodePort = 0] = Deno.args.map(Number);
const hostname = "127.0.0.1";
const headers = ["content-type", "application/json"];

const idle: Connection[] = [];

abstract class Connection {
  resolve = (_text: string) => {};
  abstract send(body: string): void;

  answered(text: string): void {
    idle.push(this);
    this.resolve(text);
  }
}

class PlainConnection extends Connection {
  readonly #socket: Socket = connect(nodePort, hostname);

  constructor() {
    super();
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (part) => {
      const text = part.toString();
      this.answered(text.slice(text.indexOf("\r\n\r\n") + 4));
    });
  }

  send(body: string): void {
    this.#socket.write(
      `POST / HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  }
}

class UndiciConnection extends Connection implements Dispatcher.DispatchHandler {
  readonly #client = new Client(`http://${hostname}:${nodePort}`, {
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  #part: Uint8Array = new Uint8Array();

  send(body: string): void {
    this.#client.dispatch({ path: "/", method: "POST", headers, body }, this);
  }

  onRequestStart(): void {}

  onResponseStart(): void {}

  onResponseData(_controller: unknown, part: Uint8Array): void {
    this.#part = part;
  }

  onResponseEnd(): void {
    this.answered(decoder.decode(this.#part));
  }

  onResponseError(_controller: unknown, error: Error): void {
    throw error;
  }
}

const decoder = new TextDecoder();

function forward(body: string): Promise<string> {
  return new Promise((resolve) => {
    const open = () => Deno.args[2] === "undici" ? new UndiciConnection() : new PlainConnection();
    const connection = idle.pop() ?? open();
    connection.resolve = resolve;
    connection.send(body);
  });
}

Deno.serve({ hostname, port, onListen: () => {} }, async (request) => {
  const text = await request.text();
  JSON.parse(text);
  return new Response(await forward(text), { headers: [["content-type", "application/json"]] });
});

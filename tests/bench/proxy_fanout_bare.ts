/**
 * The floor under the proxy on this runtime: a server and its WebSockets, and nothing else. Every
 * message of the node is sent to every client: `deno run -A proxy_fanout_bare.ts NODE_PORT PORT`,
 * and with `net` as the third argument over sockets of `node:net`, as `--ws-port` does.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";

const [nodePort, port] = Deno.args.map(Number);
const hostname = "127.0.0.1";
const answer = '{"jsonrpc":"2.0","id":1,"result":"0x1"}';

/** Sends every message to clients of the runtime's own server. */
function serveNative(): (data: string) => void {
  const clients: WebSocket[] = [];
  Deno.serve({ hostname, port, onListen: () => {} }, (request) => {
    if (request.headers.get("upgrade") !== "websocket") return new Response(null, { status: 400 });
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = () => {
      clients.push(socket);
      socket.send(answer);
    };
    return response;
  });
  return (data) => {
    for (const client of clients) client.send(data);
  };
}

/** Frames every message once and writes it to each socket. It reads no frames: clients send one. */
function serveNet(): (data: string) => void {
  const clients: Socket[] = [];
  createServer((socket) => {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const key = /^sec-websocket-key: (.+)\r$/im.exec(head.toString())?.[1] ?? "";
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n" +
          `sec-websocket-accept: ${accept.digest("base64")}\r\n\r\n`,
      );
      socket.once("data", () => {
        clients.push(socket);
        socket.write(frameOf(answer));
      });
    });
  }).listen(port, hostname);
  return (data) => {
    const frame = frameOf(data);
    for (const client of clients) client.write(frame);
  };
}

/** An unmasked text frame (RFC 6455, section 5.2) of at most 65,535 bytes. */
function frameOf(text: string): Buffer {
  const body = Buffer.from(text);
  const head = body.length < 126
    ? Buffer.from([0x81, body.length])
    : Buffer.from([0x81, 126, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([head, body]);
}

const send = Deno.args[2] === "net" ? serveNet() : serveNative();

function connect() {
  const node = new WebSocket(`ws://${hostname}:${nodePort}/`);
  node.onmessage = ({ data }) => send(data);
  node.onerror = () => setTimeout(connect, 50);
}
connect();

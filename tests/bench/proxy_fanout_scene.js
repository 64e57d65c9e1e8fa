/**
 * For Bun: plays the node and the clients of a relay. The clients are bare connections, since to parse
 * their frames would take longer than to send them.
 */
import { readFileSync } from "node:fs";

const MESSAGE_BYTES = 600;
/** A notification with the header of its frame. */
export const FRAME_BYTES = MESSAGE_BYTES + 4;
/** The unit in which Linux counts what a process used of the CPU. */
const CPU_TICK_US = 10_000;

const BEFORE_NUMBER = '{"jsonrpc":"2.0","method":"eth_subscription","params":' +
  '{"subscription":"0x1","result":{"number":"0x';
const NUMBER_DIGITS = 8;
const AFTER_NUMBER = (() => {
  const hash = "b3".repeat(32);
  const start = `","hash":"0x${hash}","parentHash":"0x${hash}","stateRoot":"0x${hash}",` +
    '"gasLimit":"0x1c9c380","gasUsed":"0xe4e1c0","timestamp":"0x6921a1b3","logsBloom":"0x';
  const end = '"}}}';
  const bytes = BEFORE_NUMBER.length + NUMBER_DIGITS + start.length + end.length;
  return start + "0".repeat(MESSAGE_BYTES - bytes) + end;
})();
let heads = 0;

/** The notification of a new head, of exactly MESSAGE_BYTES. */
function notification() {
  heads += 1;
  return BEFORE_NUMBER + heads.toString(16).padStart(NUMBER_DIGITS, "0") + AFTER_NUMBER;
}

/** Microseconds of CPU that a process has used, its kernel time included. */
export function cpuUs(pid) {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ");
  const [userTicks, systemTicks] = fields.split(" ").slice(11, 13).map(Number);
  return (userTicks + systemTicks) * CPU_TICK_US;
}

/** A node that grants every subscription under the id 0x1. @returns What sends to the relay. */
export async function startNode(port) {
  let upstream;
  const connected = Promise.withResolvers();
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    fetch: (request, server) =>
      server.upgrade(request) ? undefined : new Response("", { status: 400 }),
    websocket: {
      // Otherwise what a slow relay has not read is dropped, and counts as the relay's loss.
      backpressureLimit: 2 ** 30,
      message(socket, text) {
        const { id } = JSON.parse(text);
        upstream = socket;
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
      },
      open(socket) {
        upstream ??= socket;
        connected.resolve();
      },
    },
  });
  await connected.promise;
  return () => upstream.send(notification());
}

const subscribe = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';
const subscribeFrame = Buffer.concat([
  Buffer.from([0x81, 0x80 | subscribe.length, 0, 0, 0, 0]),
  Buffer.from(subscribe),
]);

/** Connects and subscribes clients; `onBytes` is called with the bytes of each later chunk. */
export async function openClients(port, count, onBytes) {
  let ready = 0;
  const allReady = Promise.withResolvers();
  const socket = {
    open(socket) {
      socket.data = { text: "", asked: false, ready: false };
      socket.write(
        "GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
          "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      );
    },
    data(socket, chunk) {
      const state = socket.data;
      if (state.ready) return onBytes(chunk.length);
      state.text += chunk.toString("latin1");
      if (!state.asked && state.text.includes("\r\n\r\n")) {
        state.asked = true;
        socket.write(subscribeFrame);
      }
      if (state.text.includes('"result":"0x1"')) {
        state.ready = true;
        ready += 1;
        if (ready === count) allReady.resolve();
      }
    },
  };
  for (let n = 0; n < count; n += 1) {
    await Bun.connect({ hostname: "127.0.0.1", port, socket });
  }
  await allReady.promise;
}

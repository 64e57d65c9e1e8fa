/**
 * For Bun: the rival of the proxy's hub, with nothing to it but publish. Every message of the node is
 * published to all clients: `bun proxy_fanout_relay.js NODE_PORT PORT`.
 */
const [nodePort, port] = process.argv.slice(2).map(Number);
const server = Bun.serve({
  hostname: "127.0.0.1",
  port,
  fetch: (request, server) =>
    server.upgrade(request) ? undefined : new Response("", { status: 400 }),
  websocket: {
    message(socket) {
      socket.subscribe("heads");
      socket.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
    },
  },
});
function connect() {
  const node = new WebSocket(`ws://127.0.0.1:${nodePort}/`);
  node.onmessage = ({ data }) => server.publish("heads", data);
  node.onerror = () => setTimeout(connect, 50);
}
connect();

/**
 * The floor under the proxy on this runtime: a server and its WebSockets, and nothing else. Every
 * message of the node is sent to every client: `deno run -A proxy_fanout_bare.ts NODE_PORT PORT`.
 */
const [nodePort, port] = Deno.args.map(Number);
const hostname = "127.0.0.1";
const clients: WebSocket[] = [];

Deno.serve({ hostname, port, onListen: () => {} }, (request) => {
  if (request.headers.get("upgrade") !== "websocket") return new Response(null, { status: 400 });
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = () => {
    clients.push(socket);
    socket.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
  };
  return response;
});

function connect() {
  const node = new WebSocket(`ws://${hostname}:${nodePort}/`);
  node.onmessage = ({ data }) => {
    for (const client of clients) client.send(data);
  };
  node.onerror = () => setTimeout(connect, 50);
}
connect();

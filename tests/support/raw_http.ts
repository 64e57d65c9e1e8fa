/** Sends one HTTP request as it is written, over a connection of its own. @returns The answer. */
export async function sendRaw(url: string, lines: readonly string[], body = "") {
  const { hostname, port } = new URL(url);
  using caller = await Deno.connect({ hostname, port: Number(port) });
  // The runtime refuses handshakes with a length.
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  const head = [...lines, ...length, "", body].join("\r\n");
  await caller.write(new TextEncoder().encode(head));
  const text = await new Response(caller.readable).text();
  return { status: Number(/^HTTP\/1\.\d (\d+)/.exec(text)?.[1]), text };
}

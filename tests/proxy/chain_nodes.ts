import { EchoNode } from "./echo_node.ts";

/** The block of a number, the same on every node. */
function block(number: number) {
  const hex = `0x${number.toString(16)}`;
  const timestamp = `0x${Math.floor(Date.now() / 1000).toString(16)}`;
  return { number: hex, hash: `0xb10c${hex.slice(2)}`, timestamp };
}

interface Call {
  id: number;
  method: string;
  params: [string];
}

/** Read nodes of one chain, over real sockets; each knows how far it is. */
export class ChainNode {
  readonly node: EchoNode;
  head: number;

  constructor(head: number) {
    this.head = head;
    this.node = new EchoNode({
      answer: (text) => {
        const call: Call = JSON.parse(text);
        return Response.json({ jsonrpc: "2.0", id: call.id, result: this.#result(call) });
      },
    });
  }

  /** Has one more block, and says so. */
  announce(): void {
    this.head += 1;
    this.node.notify(["newHeads"], block(this.head));
  }

  #result({ method, params }: Call): unknown {
    return method === "eth_getBlockByNumber"
      ? block(this.head)
      : { method, params, port: this.node.port };
  }
}

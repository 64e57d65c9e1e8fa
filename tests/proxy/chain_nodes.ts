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
  /** Answers a call in place of the node, if it wants to. */
  answer: ((call: Call) => Response | Promise<Response> | undefined) | undefined;

  constructor(head: number, port?: number) {
    this.head = head;
    this.node = new EchoNode({
      port,
      answer: async (text) => {
        const call: Call | Call[] = JSON.parse(text);
        const own = Array.isArray(call) ? undefined : await this.answer?.(call);
        if (own !== undefined) return own;
        const of = (each: Call) => ({ jsonrpc: "2.0", id: each.id, result: this.#result(each) });
        return Response.json(Array.isArray(call) ? call.map(of) : of(call));
      },
    });
  }

  /** Methods that were called over HTTP, without those of probes. */
  get asked(): string[] {
    return this.node.requests.flatMap(({ text }) => {
      const call: Call | Call[] = JSON.parse(text);
      if (Array.isArray(call)) return call.map(({ method }) => method);
      return call.params?.[0] === "latest" ? [] : [call.method];
    });
  }

  /** Has one more block, and says so. */
  announce(): void {
    this.head += 1;
    this.node.notify(["newHeads"], block(this.head));
  }

  #result({ method, params }: Call): unknown {
    if (/^eth_new.*Filter$/.test(method)) return "0x1";
    if (method !== "eth_getBlockByNumber") return { method, params, port: this.node.port };
    const number = params[0] === "latest" ? this.head : Number(params[0]);
    return number <= this.head ? block(number) : null;
  }
}

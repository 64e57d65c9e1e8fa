import { type Answer, answerTo, callText, firstId, readAnswer } from "../envelope.ts";
import type { NodePort } from "./node_http.ts";
import type { Read } from "./open_reads.ts";

/** Plain reads over HTTP. */
export class HttpReads {
  readonly #nodes: NodePort;
  #lastId = firstId();

  constructor(nodes: NodePort) {
    this.#nodes = nodes;
  }

  /**
   * Sends a read, again if it was lost on a stale connection, and to another node if this one fails.
   *
   * @throws {ProxyError} As {@link NodePort.post}, and 502 if the node answered another call.
   */
  async ask({ rest, node, forwardedFor }: Read): Promise<Answer> {
    const id = this.#lastId += 1;
    const isAnswer = (body: string) => readAnswer({ status: 200, body }, id) !== undefined;
    const options = { forwardedFor, node, isPlain: true, isAnswer };
    return answerTo(id, await this.#nodes.post(callText(rest, id), options), "read");
  }
}

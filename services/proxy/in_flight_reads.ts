import type { Call } from "./calls.ts";
import { memberText, replaceMember } from "./json_text.ts";
import { bodyText, type NodeReply } from "./node_reply.ts";

interface Flight {
  /** The id under which the node was asked, as text. */
  id: string;
  reply: Promise<NodeReply>;
}

/** Reads that were sent and not answered yet, so that an equal one can wait for the same answer. */
export class InFlightReads {
  // Bounded by the requests that are open, since each flight ends with its answer or its timeout.
  readonly #flights = new Map<string, Flight>();

  /** Sends a call, or joins the flight of an equal one and gives its answer under the call's id. */
  async ask(call: Call, send: () => Promise<NodeReply>): Promise<NodeReply> {
    const id = memberText(call.text, "id");
    if (id === undefined) return await send();
    const key = replaceMember(call.text, "id", "");
    const flight = this.#flights.get(key);
    if (flight !== undefined) return underId(await flight.reply, flight.id, id);
    const reply = send();
    const own: Flight = { id, reply };
    this.#flights.set(key, own);
    try {
      return await reply;
    } finally {
      if (this.#flights.get(key) === own) this.#flights.delete(key);
    }
  }

  /** Lets no later read join those under way. */
  forget(): void {
    this.#flights.clear();
  }
}

function underId(reply: NodeReply, sent: string, wanted: string): NodeReply {
  if (sent === wanted) return reply;
  return { status: reply.status, body: replaceMember(bodyText(reply.body), "id", wanted) };
}

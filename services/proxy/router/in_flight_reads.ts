import { type Cut, replaceMember } from "../json_text.ts";
import { bodyText, type NodeReply } from "../http_pool/reply_body.ts";

interface Flight {
  /** The id under which the node was asked, as text. */
  id: string;
  reply: Promise<NodeReply>;
}

/** Reads that were sent and not answered yet, so that an equal one can wait for the same answer. */
export class InFlightReads {
  // Bounded by the requests that are open, since each flight ends with its answer or its timeout.
  readonly #flights = new Map<string, Flight>();

  /**
   * Sends a call, or joins the flight of an equal one and gives its answer under the call's own id.
   *
   * @param call The text of the call, cut at its id.
   */
  ask(call: Cut, send: () => Promise<NodeReply>): Promise<NodeReply> {
    const key = call.before + call.after;
    const flight = this.#flights.get(key);
    if (flight !== undefined) {
      return flight.reply.then((reply) => underId(reply, flight.id, call.value));
    }
    const reply = send();
    const own: Flight = { id: call.value, reply };
    this.#flights.set(key, own);
    const land = () => {
      if (this.#flights.get(key) === own) this.#flights.delete(key);
    };
    reply.then(land, land);
    return reply;
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

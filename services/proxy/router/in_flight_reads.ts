import { USUAL_START } from "./calls.ts";
import { type Cut, memberSpan, replaceMember } from "../json_text.ts";
import { bodyText, type NodeReply } from "../http_pool/reply_body.ts";

/**
 * A read with a longer id is not shared. The first of equal reads is sent with its caller's own id, so
 * a huge id could make the node refuse a read that other callers wait for.
 */
const ID_LENGTH_MAX = 64;

/** Four per request that can be open at a node, so that collisions are rare; a power of two. */
const SLOTS = 4_096;

/** At least this many characters of a longer text are hashed, spread over it. */
const HASHED_CHARS = 64;

/** A read without an answer yet. */
export interface Flight {
  readonly key: string;
  /** Its slot while equal reads may join it. */
  readonly slot: number;
  /** The id of the read that was sent, as JSON. */
  readonly id: string;
  /** Callbacks of the equal reads that wait for it. */
  waiting: ((reply: NodeReply | undefined) => void)[] | undefined;
}

/** Reads without an answer yet, so that an equal read can wait for the same answer. */
export class InFlightReads {
  /**
   * The newest flight of each slot; an older one in the same slot can no longer be joined. A `Map` of
   * short-lived texts takes twice as long.
   */
  readonly #slots: (Flight | undefined)[] = new Array(SLOTS).fill(undefined);

  /**
   * Begins the flight of a read, for its sender to {@link land}. If an equal one is in flight, returns
   * its answer instead, which is undefined if it cannot be shared.
   *
   * @param call The text of the read, cut at its id.
   */
  begin(call: Cut): Flight | Promise<NodeReply | undefined> | undefined {
    if (call.value.length > ID_LENGTH_MAX) return undefined;
    // Concatenating the two would need a copy. The text after the id is never a whole call.
    const key = call.before === USUAL_START ? call.after : call.before + call.after;
    const slot = slotOf(key);
    const flight = this.#slots[slot];
    if (flight !== undefined && flight.key === key) return this.#join(flight, call.value);
    const own: Flight = { key, slot, id: call.value, waiting: undefined };
    this.#slots[slot] = own;
    return own;
  }

  async #join(flight: Flight, id: string): Promise<NodeReply | undefined> {
    const reply = await new Promise<NodeReply | undefined>((resolve) => {
      (flight.waiting ??= []).push(resolve);
    });
    return reply && underId(reply, flight.id, id);
  }

  /**
   * Ends a flight. Equal reads get the answer if it is a result: an error may be about the first
   * caller, such as its address, so after any other outcome each read is sent separately.
   */
  land(flight: Flight, reply: NodeReply | undefined): void {
    if (this.#slots[flight.slot] === flight) this.#slots[flight.slot] = undefined;
    if (flight.waiting === undefined) return;
    const shared = reply !== undefined && isResult(reply) ? reply : undefined;
    for (const resolve of flight.waiting) resolve(shared);
  }

  /** Prevents later reads from joining those in flight. */
  forget(): void {
    this.#slots.fill(undefined);
  }
}

function isResult({ status, body }: NodeReply): boolean {
  if (status !== 200) return false;
  const text = bodyText(body);
  return memberSpan(text, "result") !== undefined && memberSpan(text, "error") === undefined;
}

/** An answer with the id of another call. */
function underId(reply: NodeReply, sent: string, wanted: string): NodeReply {
  if (sent === wanted) return reply;
  return { status: reply.status, body: replaceMember(bodyText(reply.body), "id", wanted) };
}

/** The slot of a text. */
function slotOf(text: string): number {
  const step = Math.max(1, Math.floor(text.length / HASHED_CHARS));
  let hash = text.length;
  for (let at = 0; at < text.length; at += step) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193); // FNV-1a
  }
  return (hash ^ hash >>> 15) & (SLOTS - 1);
}

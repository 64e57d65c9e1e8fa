import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import type { ReadNodes } from "./read_nodes.ts";

/** Interval at which every node is asked for its head. */
export const ROUND_MS = 1_000;

/** Options of {@link ProbeRounds}. */
export interface ProbeRoundsOptions {
  nodes: ReadNodes;
  clock: Clock;
  /** Asks a node for its head and reports the outcome; never rejects. */
  probe: (node: number) => Promise<void>;
}

/** Asks all read nodes for their heads at the same moment, once a round. */
export class ProbeRounds {
  readonly #options: ProbeRoundsOptions;
  #cancel: CancelTimer | undefined;
  #stopped = false;

  constructor(options: ProbeRoundsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#play();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #play(): void {
    const { nodes, clock, probe } = this.#options;
    const startedAtMs = clock.now();
    const due = nodes.names.map((_, node) => node).filter((node) => nodes.isDue(node));
    Promise.all(due.map(probe)).then(() => {
      if (this.#stopped) return;
      nodes.endRound();
      const leftMs = Math.max(0, startedAtMs + ROUND_MS - clock.now());
      this.#cancel = clock.after(leftMs, () => this.#play());
    });
  }
}

/** How a node may behave while a service that uses it is killed. */
import { ConnectionLost, type FakeNode } from "./fake_node.ts";

/** A behaviour, and the outcome of a transaction that is sent again after it. */
export interface NodeBehaviour {
  name: string;
  set(node: FakeNode): void;
  /** Whether the transaction is committed in the end. */
  commits: boolean;
}

/** A node as it should be. */
export const HEALTHY: NodeBehaviour = { name: "healthy", set: () => {}, commits: true };

/** Delay of a slow node. */
const SLOW_MS = 100;

/** Nodes as they should not be. */
export const FAULTY: readonly NodeBehaviour[] = [
  {
    name: "slow",
    set(node) {
      node.behaviour = async (apply) => {
        await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
        return apply();
      };
    },
    commits: true,
  },
  {
    name: "answering twice",
    set(node) {
      node.behaviour = (apply) => {
        apply();
        return apply();
      };
    },
    commits: true,
  },
  {
    name: "answering and dying",
    set(node) {
      node.behaviour = (apply) => {
        apply();
        node.down = true;
        throw new ConnectionLost("Node died");
      };
    },
    commits: true,
  },
  {
    name: "away",
    set(node) {
      node.behaviour = () => {
        throw new ConnectionLost("Node is away");
      };
    },
    commits: true,
  },
  {
    name: "refusing by its rules",
    set(node) {
      node.refusal = "PERMISSION_DENIED";
    },
    commits: false,
  },
  {
    name: "rejecting",
    set(node) {
      node.timestampToleranceMs = -1;
    },
    commits: false,
  },
];

/** The node is up and answers; its rules still refuse the same transactions. */
export function makeHealthy(node: FakeNode): void {
  node.down = false;
  node.behaviour = (apply) => apply();
}

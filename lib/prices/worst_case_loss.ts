import { lowerBound } from "../lower_bound.ts";
import { slotAtOrAfter } from "./price_slots.ts";
import { type BetAtRisk, riskOf } from "../protocol/bet.ts";
import { marketKey } from "../protocol/markets.ts";

/** A bet with its times in slots of 100 ms, both included. */
interface BoxInSlots {
  firstSlot: number;
  lastSlot: number;
  lowerPrice: bigint;
  upperPrice: bigint;
  risk: bigint;
}

/**
 * The most that bets can cost the solver under any prices, USDC with 6 decimals: never less than
 * the true worst case, never more than the sum of all risks.
 *
 * Boxes checked in the same slot see the same price, so they win together only where their ranges
 * overlap. Each market's boxes are split into groups that share a slot. The loss of a group is its
 * loss at the worst price; the result is the sum over all groups and markets. Exact if the boxes of
 * each market share a slot. O(n log n).
 */
export function worstCaseLoss(bets: Iterable<BetAtRisk>): bigint {
  const markets = new Map<string, BoxInSlots[]>();
  for (const bet of bets) {
    const key = marketKey(bet);
    const boxes = markets.get(key);
    if (boxes === undefined) markets.set(key, [boxOf(bet)]);
    else boxes.push(boxOf(bet));
  }
  let loss = 0n;
  for (const boxes of markets.values()) {
    for (const group of groupsOf(boxes)) loss += worstPriceLoss(group);
  }
  return loss;
}

function boxOf(bet: BetAtRisk): BoxInSlots {
  const { lowerPrice, upperPrice, startTime, endTime } = bet;
  const firstSlot = slotAtOrAfter(startTime);
  const lastSlot = slotAtOrAfter(endTime) - 1;
  return { firstSlot, lastSlot, lowerPrice, upperPrice, risk: riskOf(bet) };
}

/** Divides boxes into groups, each with a slot that all its boxes are checked in. */
function groupsOf(boxes: BoxInSlots[]): BoxInSlots[][] {
  boxes.sort((a, b) => a.lastSlot - b.lastSlot);
  const groups: BoxInSlots[][] = [];
  /** The slot of each group, ascending: the last slot of the box that ends first. */
  const slots: number[] = [];
  /** Boxes whose window lies between two slots: none is ever checked, so all their users win. */
  const unchecked: BoxInSlots[][] = [];
  for (const box of boxes) {
    const { firstSlot, lastSlot } = box;
    if (firstSlot > lastSlot) {
      unchecked.push([box]);
      continue;
    }
    // The slots so far are last slots of boxes that end earlier, so this box includes each of them
    // from its start on. It joins the first.
    const index = lowerBound(slots, firstSlot);
    const group = groups[index];
    if (group === undefined) {
      slots.push(lastSlot);
      groups.push([box]);
    } else group.push(box);
  }
  return [...groups, ...unchecked];
}

/** The solver's loss at the price where the boxes that contain it have the largest total risk. */
function worstPriceLoss(boxes: readonly BoxInSlots[]): bigint {
  const edges = boxes.flatMap(({ lowerPrice, upperPrice, risk }) => [
    { price: lowerPrice, change: risk },
    { price: upperPrice + 1n, change: -risk }, // both bounds belong to the range
  ]);
  edges.sort((a, b) =>
    a.price < b.price ? -1 : a.price > b.price ? 1 : Number(a.change - b.change)
  );
  let [loss, worst] = [0n, 0n];
  for (const { change } of edges) {
    loss += change;
    if (loss > worst) worst = loss;
  }
  return worst;
}

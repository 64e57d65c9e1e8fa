import assert from "node:assert/strict";
import {
  betAt,
  type BoxKind,
  type ChartBox,
  groupsOf,
} from "../../services/console/page/trade/chart_boxes.ts";

const NOW_MS = 100_000;

const box = (kind: BoxKind, thesisId: number, toMs = NOW_MS): ChartBox => ({
  ...{ kind, thesisId, low: 10, high: 20, fromMs: 0, toMs, label: "" },
});

Deno.test("groupsOf: 200 boxes are painted as one shape for each state, the own box on top", () => {
  const kinds = ["open", "won", "lost", "waiting"] as const;
  const boxes = Array.from({ length: 200 }, (_, index) => box(kinds[index % 4]!, index));
  const groups = groupsOf([...boxes, box("draft", 999)], NOW_MS);
  assert.deepEqual(groups.map(({ kind }) => kind), ["lost", "won", "waiting", "open", "draft"]);
  assert.deepEqual(groups.map(({ boxes }) => boxes.length), [50, 50, 50, 50, 1]);
});

Deno.test("groupsOf: settled boxes fade after half a minute, below all others; open ones never", () => {
  const groups = groupsOf([
    box("won", 1, NOW_MS - 30_001),
    box("won", 2, NOW_MS - 30_000),
    box("open", 3, 0),
  ], NOW_MS);
  assert.deepEqual(
    groups.map((
      { kind, strength, boxes },
    ) => [kind, strength, boxes.map(({ thesisId }) => thesisId)]),
    [["won", 0.35, [1]], ["won", 1, [2]], ["open", 1, [3]]],
  );
});

Deno.test("betAt: the topmost bet at a place, its sides included; never the box being drawn", () => {
  const { thesisId: _, ...draft } = box("draft", 0);
  const boxes = [box("won", 1), box("open", 2), draft];
  for (const [time, price] of [[0, 10], [NOW_MS, 20], [500, 15]] as const) {
    assert.equal(betAt(boxes, time, price), 2);
  }
  for (const [time, price] of [[-1, 15], [NOW_MS + 1, 15], [5, 9], [5, 21]] as const) {
    assert.equal(betAt(boxes, time, price), undefined);
  }
});

import assert from "node:assert/strict";
import { Markets } from "../../../../lib/client/mod.ts";
import { betsCsv } from "../../../../services/console/page/data/bets_csv.ts";
import { gainOf } from "../../../../services/console/page/data/outcome.ts";
import { makerGainOf } from "../../../../services/console/page/maker/earnings.ts";
import { betsOfEveryOutcome, OTHER, USER } from "../../support.ts";

const markets = new Markets([{ symbol: "A/B", base: OTHER, quote: OTHER }]);

Deno.test("betsCsv: lists all bets, oldest first, with what each pays, paid and brought", () => {
  const [head, ...rows] = betsCsv(betsOfEveryOutcome, markets, gainOf).trimEnd().split("\r\n");
  assert.match(head ?? "", /,stake,payout_if_won,paid,profit,left_at,left_price,user$/);
  const zero = "1970-01-01T00:00:00.000Z";
  const terms = `${zero},${zero},1970-01-01T00:00:01.000Z,0.000001,0.000002,0.00001,0.000025`;
  const left = "0,-0.00001,1970-01-01T00:00:00.500Z,3";
  const zeros = (text: string) =>
    text.replace(/(\.\d*?)0+(?=,|$)/g, "$1").replace(/\.(?=,|$)/g, "");
  assert.deepEqual(
    rows.map(zeros),
    [
      `1,A/B,open,${terms},,,,,${USER}`,
      `2,A/B,won,${terms},0.000025,0.000015,,,${USER}`,
      `3,A/B,lost,${terms},${left},${USER}`,
      `4,A/B,lost,${terms},${left},${USER}`,
    ].map(zeros),
  );
  for (const row of rows) assert.equal(row.split(",").length, head?.split(",").length);
  assert.match(
    betsCsv(betsOfEveryOutcome, markets, makerGainOf),
    /won.*,-0\.000015,,,/,
    "a maker's profit",
  );
});

import assert from "node:assert/strict";
import { linkedBox, linkTo } from "../../services/console/page/trade/box_link.ts";

const BOX = {
  symbol: "ETH/USDT",
  fields: { lower: "2990,5", upper: "3010", startsIn: "3 s", lasts: "15 s" },
};

Deno.test("Links: a link restores the same box, without the amount", () => {
  const fields = { ...BOX.fields, amount: "900" };
  const link = linkTo("https://page.example/?a=b#maker", { ...BOX, fields });
  assert(link.startsWith("https://page.example/?a=b#trade?symbol=ETH%2FUSDT&"), link);
  assert(!link.includes("900"));
  assert.deepEqual(linkedBox(new URL(link).hash), BOX);
});

Deno.test("Links: an address with another view, missing parts or long texts opens no box", () => {
  const { hash } = new URL(linkTo("http://a/", BOX));
  const wrong = ["", "#trade", "#maker?symbol=A", "#trade?symbol=A", hash.replace("#trade", "#x")];
  for (const other of [...wrong, hash.replace("3010", "3".repeat(41))]) {
    assert.equal(linkedBox(other), undefined, other);
  }
});

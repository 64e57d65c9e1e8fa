import assert from "node:assert/strict";
import { findLinkedBox, linkTo } from "../../../../services/console/page/trade/box_link.ts";

const BOX = {
  symbol: "ETH/USDT",
  fields: { lower: "2990,5", upper: "3010", startsIn: "30 s", lasts: "15 s" },
};

Deno.test("linkTo: a link restores the same box, without the amount", () => {
  const fields = { ...BOX.fields, amount: "900" };
  const link = linkTo("https://page.example/?a=b#maker", { ...BOX, fields });
  assert(link.startsWith("https://page.example/?a=b#trade?symbol=ETH%2FUSDT&"), link);
  assert(!link.includes("900"));
  assert.deepEqual(findLinkedBox(new URL(link).hash), BOX);
});

Deno.test("findLinkedBox: without a market, or for another view, an address names no box", () => {
  const { hash } = new URL(linkTo("http://a/", BOX));
  for (const other of ["", "#trade", "#maker?symbol=A", hash.replace("#trade", "#x")]) {
    assert.equal(findLinkedBox(other), undefined, other);
  }
});

Deno.test("findLinkedBox: a box with missing, long, wrong or swapped values is invalid", () => {
  const { fields, symbol } = BOX;
  const { hash } = new URL(linkTo("http://a/", BOX));
  const wrong = [
    hash.split("&")[0]!,
    hash.replace("3010", "3".repeat(41)),
    new URL(linkTo("http://a/", { symbol, fields: { ...fields, startsIn: "xx" } })).hash,
    new URL(linkTo("http://a/", { symbol, fields: { ...fields, upper: "2990" } })).hash,
  ];
  for (const other of wrong) assert.equal(findLinkedBox(other), "invalid", other);
  assert.equal(findLinkedBox("#trade?lower=1"), "invalid");
});

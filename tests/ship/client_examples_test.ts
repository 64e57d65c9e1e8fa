/** Every function of the client has an example in its documentation comment, and all of them run. */
import assert from "node:assert/strict";
import * as client from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { fileUrl, readText, run, withStack } from "./support.ts";
import { withFile } from "../support/files.ts";

const FILES = ["mod", "chain_reader", "client", "context", "errors", "offer", "theses"]
  .map((name) => `lib/client/${name}.ts`)
  .concat("lib/protocol/deposit.ts", "lib/protocol/price.ts", "lib/protocol/thesis.ts");

/** A documentation comment and the line that it describes. */
const DOCUMENTED = /\/\*\*((?:(?!\*\/)[^])*)\*\/\n *(.*)/g;

interface Documented {
  file: string;
  line: string;
  /** Programs of its `@example`s, without imports. */
  examples: string[];
}

const documented: Documented[] = FILES.flatMap((file) =>
  [...readText(file).matchAll(DOCUMENTED)].map(([, comment = "", line = ""]) => ({
    file,
    line,
    examples: [...comment.matchAll(/```ts\n([^]*?)```/g)].map(([, code = ""]) =>
      code.replaceAll(/^ *\* ?/gm, "").replaceAll(/^import .*\n/gm, "")
    ),
  }))
);

/** The name of a public function or method, by its first line; undefined for anything else. */
function functionIn({ file, line }: Documented): string | undefined {
  const isExported = /^export (?:async )?function /.test(line);
  if (/^(async )?function /.test(line)) return undefined;
  if (!isExported && !/^lib\/client\/(chain_reader|client|theses)\.ts$/.test(file)) {
    return undefined;
  }
  const [, name] = /^(?:export )?(?:async )?(?:function )?([a-z]\w*)[(<]/.exec(line) ?? [];
  if (isExported && !Object.hasOwn(client, name ?? "")) return undefined; // between its own files
  return name === "constructor" ? undefined : name;
}

/** What the classes of the client use between them. */
const INTERNAL = ["open", "requireChain"];

Deno.test("Client: every function has an example", () => {
  const names: string[] = [];
  for (const each of documented) {
    const name = functionIn(each);
    if (name === undefined || /^on[A-Z]/.test(name) || INTERNAL.includes(name)) continue;
    if (/^get(Thesis|Theses)$/.test(name)) continue; // of an interface that the client fulfils
    names.push(name);
    assert(each.examples.length > 0, `${name} in ${each.file} has no example`);
  }
  const { prototype } = client.RangemakerClient;
  const inherited = Object.getPrototypeOf(prototype);
  for (const name of [prototype, inherited].flatMap(Object.getOwnPropertyNames)) {
    if (name === "constructor" || INTERNAL.includes(name)) continue;
    assert(names.includes(name), `${name} is not documented`);
  }
});

/** Variables that the examples use, new for each: a fresh bet around the price. */
function programOf(urls: string): string {
  const runs = documented.flatMap(({ file, line, examples }) =>
    examples.map((code) =>
      `[${JSON.stringify(`${file}, ${line}`)}, async (given) => {
  const { bet, offer, thesisId, watch, error } = given;
  {
    ${code}
  }
}],`
    )
  ).join("\n");
  const client = fileUrl("lib/client/mod.ts").href;
  return `
import {
  formatPrice, formatUnits, hasPriceMoved, isOutcomeUnknown, randomNonce, isRangemakerError, isUnsettled, offerFromJson, offerToJson, parsePrice, RangemakerClient, WalletError,
} from "${client}";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import WebSocket from "ws";
const urls = ${urls};
const window = { ethereum: privateKeyToAccount(generatePrivateKey()) };
const client = new RangemakerClient({ urls, chainId: 1337, wallet: window.ethereum });
const retryLater = () => { throw new Error("Not expected"); };
const { price } = (await client.prices())["ETH/USDT"];
await client.deposit(1_000_000_000n);
const examples = [${runs}];
for (const [name, run] of examples) {
  const startTime = Date.now();
  const range = { lowerPrice: price / 2n, upperPrice: price * 2n };
  const bet = {
    symbol: "ETH/USDT", ...range, betAmount: 1_000_000n, startTime, endTime: startTime + 10_000,
  };
  const offer = await client.quote(bet);
  const { thesisId } = await client.execute(offer);
  const watch = await client.watch();
  const error = new WalletError("WRONG_CHAIN", "as if");
  try {
    await run({ bet, offer, thesisId, watch, error });
  } catch (thrown) {
    throw new Error("Example of " + name + ": " + thrown, { cause: thrown });
  }
  watch.close();
}
console.log(examples.length + " ran");
Deno.exit(0); // an example that watches leaves that to its reader to end
`;
}

Deno.test("Client: all examples run", { timeout: 120_000 }, () =>
  withStack(async ({ urls }) => {
    await waitForPrices(urls, new client.RangemakerClient({ urls, chainId: 1337 }), systemClock);
    await withFile(programOf(JSON.stringify(urls)), async (file) => {
      const args = ["run", "--no-prompt", "--allow-all", "--config", fileUrl("deno.json").pathname];
      const { code, text, stdout } = await run(Deno.execPath(), [...args, file]);
      assert.equal(code, 0, text);
      const count = documented.flatMap(({ examples }) => examples).length;
      assert(count >= 18, `${count} examples`);
      assert.equal(stdout.trim().split("\n").at(-1), `${count} ran`);
    }, ".js");
  }, { pricing: "mock" })); // their ranges cannot be left

/** Every function of the client has an example, which runs, and `docs/client.md` lists the methods. */
import assert from "node:assert/strict";
import * as client from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { filePath, fileUrl, readText, run, withStack } from "./support.ts";
import { withFile } from "../support/files.ts";

/** What `deno doc --json` tells about a declaration, or about a member of one. */
interface Declaration {
  name: string;
  kind: string;
  location: { filename: string };
  jsDoc?: { tags?: { kind: string; doc?: string }[] };
  def?: { methods?: Declaration[]; properties?: Declaration[] };
  /** Of a method. */
  functionDef?: { params: unknown[] };
}

interface Documentation {
  nodes: Record<string, {
    module_doc: Declaration["jsDoc"];
    symbols: { name: string; declarations: Declaration[] }[];
  }>;
}

/** The exports of the client, and the class whose methods it inherits. */
const MODULES = ["mod", "chain_reader"].map((name) => filePath(`lib/client/${name}.ts`));

const { stdout } = await run(Deno.execPath(), ["doc", "--json", ...MODULES]);
const { nodes }: Documentation = JSON.parse(stdout);
const declarations = Object.values(nodes).flatMap(({ symbols }) =>
  symbols.flatMap(({ name, declarations }) => declarations.map((each) => ({ ...each, name })))
);
const members = declarations.flatMap((
  { name, kind, def: { methods = [], properties = [] } = {} },
) =>
  [...methods, ...properties].map((each) => ({
    ...each,
    name: `${name}.${each.name}`,
    kind: `${each.kind} of ${kind}`,
  }))
);
const modules = Object.values(nodes).map(({ module_doc: jsDoc }) => ({ name: "module", jsDoc }));

/** Programs of its `@example`s, without imports. */
function examplesOf({ jsDoc }: Pick<Declaration, "jsDoc">): string[] {
  return (jsDoc?.tags ?? []).filter(({ kind }) => kind === "example").map(({ doc = "" }) =>
    doc.replace(/^```ts\n([^]*)```\s*$/, "$1").replaceAll(/^import .*\n/gm, "")
  );
}

const examples = [...modules, ...declarations, ...members].flatMap((each) =>
  examplesOf(each).map((code) => ({ name: each.name, code }))
);

/** What the classes of the client use between them. */
const INTERNAL = ["ThesisWatch.open"];

Deno.test("Client: every function, and every method of its classes, has an example", () => {
  const ofClient = ({ location }: Declaration) => location.filename.includes("/lib/client/");
  const functions = [...declarations, ...members.filter(ofClient)]
    .filter(({ name, kind }) =>
      /^(function|method of class)$/.test(kind) && !INTERNAL.includes(name)
    );
  assert(functions.length > 25, `${functions.length} functions`);
  const without = functions.filter((each) => examplesOf(each).length === 0);
  assert.deepEqual(without.map(({ name }) => name), []);
});

Deno.test("docs/client.md: lists exactly the methods of the client, with their arguments", () => {
  const [, chapter = ""] = /^## Methods\n([^]*?)^## /m.exec(readText("docs/client.md")) ?? [];
  const cells = [...chapter.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = ""]) => cell).join();
  const listed = [...cells.matchAll(/`(\w+)\((.*?)\)`/g)]
    .map(([, name = "", text = ""]) => `${name} ${text.split(", ").filter(Boolean).length}`);
  const actual = members.flatMap(({ name, functionDef }) => {
    const [, method] = /^(?:RangemakerClient|ChainReader)\.(\w+)$/.exec(name) ?? [];
    return method && functionDef ? [`${method} ${functionDef.params.length}`] : [];
  });
  assert.deepEqual(listed.toSorted(), actual.toSorted());
});

/** Variables that the examples use, new for each: a fresh bet around the price. */
function programOf(urls: string): string {
  const runs = examples.map(({ name, code }) =>
    `[${JSON.stringify(name)}, async (given) => {
  const { bet, offer, thesisId, watch, error } = given;
  {
    ${code}
  }
}],`
  ).join("\n");
  const module = fileUrl("lib/client/mod.ts").href;
  return `
import { ${Object.keys(client).join(", ")} } from "${module}";
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
      const args = ["run", "--no-prompt", "--allow-all", "--config", filePath("deno.json")];
      const { code, text, stdout } = await run(Deno.execPath(), [...args, file]);
      assert.equal(code, 0, text);
      assert.equal(stdout.trim().split("\n").at(-1), `${examples.length} ran`);
    }, ".js");
  }, { pricing: "mock" })); // their ranges cannot be left

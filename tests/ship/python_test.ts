import assert from "node:assert/strict";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { exampleFor, run, withStack } from "./support.ts";

/** Whether there is Python, and eth-account for it. */
const hasEthAccount = await run("python3", ["-c", "import eth_account"])
  .then(({ code }) => code === 0, () => false);

Deno.test({
  name: "Examples: the bet in Python plays against a running stack",
  ignore: !hasEthAccount,
  fn: () =>
    withStack(async ({ urls }) => {
      await waitForPrices(urls, new RangemakerClient({ urls }), systemClock);
      const { code, text, stdout } = await run("python3", ["-c", exampleFor("bet.py", urls)]);
      assert.equal(code, 0, text);
      assert.match(stdout.trim(), /^(won|lost) \d+$/);
    }),
});

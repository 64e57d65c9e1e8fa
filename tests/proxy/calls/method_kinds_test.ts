import assert from "node:assert/strict";
import { allMethods } from "../../../lib/protocol/methods/all.ts";
import type { MethodDefinition } from "../../../lib/protocol/methods/definition.ts";
import {
  MethodKinds,
  tryParseSubscriptionMethod,
} from "../../../services/proxy/calls/method_kinds.ts";

const nodeMethods = Object.entries<MethodDefinition>(allMethods);
const namesOf = (access: MethodDefinition["access"]) =>
  nodeMethods.filter(([, method]) => method.access === access).map(([name]) => name);

const words = (text: string) => text.trim().split(/\s+/);

const writes = namesOf("write").concat(words(`
  eth_sendRawTransaction eth_sendRawTransactionConditional eth_sendRawTransactionSync
  eth_sendTransaction eth_sendBundle eth_sendPrivateTransaction eth_cancelPrivateTransaction
  eth_sendUserOperation eth_submitTransaction eth_submitWork mev_sendBundle
  personal_sendTransaction personal_sign _sign eth_sign eth_signTypedData_v4
`));
const reads = [...namesOf(undefined), ...namesOf("subscription"), ""].concat(words(`
  eth_call eth_getTransactionReceipt net_version eth_getFilterChanges send sendTransaction
  eth_resend a_b_sendBundle constructor
`));

Deno.test("MethodKinds: writes are recognised by name and by convention, all others are reads (spec, Routing)", () => {
  const table = new MethodKinds();
  for (const method of writes) assert.equal(table.kindOf(method).target, "write", method);
  for (const method of reads) assert.equal(table.kindOf(method).target, "read", method);
});

Deno.test("MethodKinds: writes of the core node are the methods that change the chain", () => {
  const changing = words(`
    core_advance core_faucet core_revert core_sendTransaction core_settleThesis core_snapshot
  `);
  assert.deepEqual(namesOf("write").toSorted(), changing);
});

Deno.test("MethodKinds: extra write methods are sent to the write node", () => {
  const table = new MethodKinds(["eth_call"]);
  assert.equal(table.kindOf("eth_call").target, "write");
  assert.equal(table.kindOf("eth_call").isPlainRead, false);
});

Deno.test("MethodKinds: only methods known to change nothing are plain reads", () => {
  const table = new MethodKinds();
  const whole = words(`
    eth_call eth_estimateGas eth_blockNumber eth_chainId eth_gasPrice eth_feeHistory
    eth_maxPriorityFeePerGas eth_blobBaseFee eth_syncing net_version web3_clientVersion
  `);
  const plain = [...whole, ...namesOf(undefined), "eth_getLogs"];
  for (const method of plain) assert(table.kindOf(method).isPlainRead, method);
  const others = [
    ...writes,
    ...namesOf("subscription"),
    ...whole.flatMap((method) => [`${method}Now`, `x_${method}`]),
    ...words(`
      x_core_getAccount eth_newFilter eth_getFilterChanges eth_getFilterLogs eth_getWork
      eth_callMany evm_mine anvil_setBalance debug_traceTransaction
    `),
  ];
  for (const method of others) assert(!table.kindOf(method).isPlainRead, method);
});

Deno.test("tryParseSubscriptionMethod: recognises those of any namespace", () => {
  assert.deepEqual(tryParseSubscriptionMethod("eth_subscribe"), {
    namespace: "eth",
    verb: "subscribe",
  });
  const ended = { namespace: "core", verb: "unsubscribe" };
  assert.deepEqual(tryParseSubscriptionMethod("core_unsubscribe"), ended);
  const others =
    "eth_subscription subscribe _subscribe a_b_subscribe eth_resubscribe eth_subscribed";
  for (const method of words(others)) {
    assert.equal(tryParseSubscriptionMethod(method), undefined, method);
  }
});

import assert from "node:assert/strict";
import { parseMessage } from "../../../services/proxy/calls/message.ts";
import {
  NEW_HEADS_KEY,
  parseSubscriptionRequest,
  SHARED_FEED_KEYS,
  SUBSCRIPTION_PARAMS_BYTES_MAX,
} from "../../../services/proxy/hub/subscription_request.ts";

function requestOf(params: string, namespace = "eth") {
  const text = `{"jsonrpc":"2.0","id":1,"method":"${namespace}_subscribe","params":${params}}`;
  const message = parseMessage(text, 1);
  assert("method" in message);
  return parseSubscriptionRequest(namespace, message);
}

const keyOf = (params: string, namespace?: string) => requestOf(params, namespace).key;

const [USER, SOLVER] = [`0x${"aB".repeat(20)}`, `0x${"Cd".repeat(20)}`];

Deno.test("parseSubscriptionRequest: the key ignores spacing and the order of members", () => {
  assert.equal(keyOf('["logs",{"a":1,"b":[2]}]'), keyOf('[ "logs", {"b":[2], "a":1} ]'));
});

Deno.test("parseSubscriptionRequest: the key differs for numbers that are equal only after parsing", () => {
  assert.notEqual(keyOf('["x",9007199254740993]'), keyOf('["x",9007199254740992]'));
  assert.notEqual(keyOf('["x",{"a":[0.1]}]'), keyOf('["x",{"a":[0.10000000000000001]}]'));
  assert.notEqual(keyOf('["x",1,2]'), keyOf('["x",12]'));
  assert.equal(keyOf('["x",{"a":[7,null]}]'), keyOf('["x",{"a": [7, null]}]'));
});

Deno.test("parseSubscriptionRequest: the key differs for a member that is given twice, since nodes disagree about which one counts", () => {
  const twice = keyOf('["logs",{"address":"0x2","address":"0x1"}]');
  assert.notEqual(twice, keyOf('["logs",{"address":"0x1"}]'));
  assert.notEqual(twice, keyOf('["logs",{"address":"0x2"}]'));
  assert.notEqual(keyOf('["logs",{"a":{"b":1,"\\u0062":2}}]'), keyOf('["logs",{"a":{"b":2}}]'));
});

Deno.test("parseSubscriptionRequest: parameters that the core node ignores are removed", () => {
  const rows: [params: string[], sent: string][] = [
    [['["newHeads"]', '["newHeads",{}]', '["newHeads",7]'], '["newHeads"]'],
    [['["prices"]', '["prices",null]'], '["prices"]'],
    [['["transactions"]', '["transactions","all"]'], '["transactions"]'],
    [['["theses",{}]'], '["theses"]'],
    [
      [
        `["theses",{"user":"${USER}","solver":"${SOLVER}"}]`,
        `["theses",{"solver":"${SOLVER.toLowerCase()}","user":"${USER.toLowerCase()}"}]`,
      ],
      JSON.stringify(["theses", { user: USER.toLowerCase(), solver: SOLVER.toLowerCase() }]),
    ],
    [[`["theses",{"user":"${USER}"}]`], JSON.stringify(["theses", { user: USER.toLowerCase() }])],
    [
      [`["theses",{"solver":"${USER}"}]`],
      JSON.stringify(["theses", {
        solver: USER.toLowerCase(),
      }]),
    ],
  ];
  for (const [params, sent] of rows) {
    for (const each of params) {
      assert.equal(requestOf(each).paramsText, sent, each);
      assert.equal(keyOf(each), keyOf(params[0]!), each);
    }
  }
  assert.equal(keyOf('["newHeads",{}]'), NEW_HEADS_KEY);
  assert.equal(new Set(rows.map(([[params = ""]]) => keyOf(params))).size, rows.length);
});

Deno.test("parseSubscriptionRequest: other parameters are sent as written", () => {
  const rows: [params: string, namespace?: string][] = [
    ['[ "newHeads" ]', "evm"],
    ['[ "newHeads",1,2]'],
    ['[ "logs", {"a":1.0} ]'],
    ['[ "theses" ]'],
    ['[ "theses",null ]'],
    ['[ "theses","all" ]'],
    [`[ "logs",{"user":"${USER}"} ]`],
    ['[ "theses",{"user":"0x1"} ]'],
    ['[ "theses",{"user":7} ]'],
    ['[ "theses",{"usr":"x"} ]'],
    [`[ "theses",{"user":"${USER}","a":1} ]`],
    [`[ "theses",{"user":"${USER}0"} ]`],
    [`[ "theses",{"user":" ${USER}"} ]`],
    [`[ "theses",{"user":"${USER}","solver":null} ]`],
    ['{ "0": "newHeads" }'],
  ];
  for (const [params, namespace] of rows) {
    assert.equal(requestOf(params, namespace).paramsText, params);
  }
  assert.equal(new Set(rows.map((row) => keyOf(...row))).size, rows.length, "all are different");
  assert.notEqual(keyOf('["newHeads"]', "evm"), keyOf('["newHeads"]', "eth"));
  const message = parseMessage('{"jsonrpc":"2.0","id":1,"method":"evm_subscribe"}', 1);
  assert("method" in message);
  const { paramsText, key } = parseSubscriptionRequest("evm", message);
  assert.deepEqual([paramsText, key], ["[]", keyOf("[]", "evm")]);
});

Deno.test("parseSubscriptionRequest: rejects parameters that are too long or nested too deep", () => {
  const long = (bytes: number) => JSON.stringify(["é".padEnd(bytes - 5, "x")]);
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assert.equal(requestOf(long(SUBSCRIPTION_PARAMS_BYTES_MAX)).paramsText.length, 4_095);
  assert.equal(requestOf(deep(16)).paramsText, deep(16));
  for (
    const params of [
      long(SUBSCRIPTION_PARAMS_BYTES_MAX + 1),
      deep(17),
      `[${'{"a":'.repeat(16)}[]${"}".repeat(16)}]`,
    ]
  ) {
    assert.throws(() => requestOf(params), { status: 413, rpcCode: -32005 }, params.slice(0, 99));
  }
});

Deno.test("parseSubscriptionRequest: every feed without parameters is shared, none with parameters", () => {
  const feeds = ["newHeads", "prices", "transactions", "theses", "logs", "newPendingTransactions"];
  for (const feed of [...feeds, "syncing"]) {
    assert(SHARED_FEED_KEYS.has(keyOf(`["${feed}"]`)), feed);
  }
  for (const params of ['["logs",{}]', '["blocks"]', `["theses",{"user":"${USER}"}]`]) {
    assert(!SHARED_FEED_KEYS.has(keyOf(params)), params);
  }
});

import { useSignal } from "@preact/signals";
import { Card, Fact } from "../parts/parts.tsx";
import type { PageModel } from "../data/page_model.ts";
import { type User, walletNameOf } from "../data/session.ts";
import { formatUsdc, shortAddress } from "../parts/format.ts";
import { explain, explainDeposit } from "../data/explain.ts";
import { numberError, tryParseDecimal } from "./input.ts";
import { chainObstacle, nodeObstacle } from "./next_step.ts";

/** Account setup: choose a key, then get funds. */
export function AccountPanel({ model }: { model: PageModel }) {
  const user = model.session.user.value;
  return user === undefined
    ? <KeyChoice model={model} />
    : <Money key={user.address} model={model} user={user} />;
}

function KeyChoice({ model }: { model: PageModel }) {
  const { session, config: { chainId, isDevelopmentChain } } = model;
  const nodeChainId = model.nodeChainId.value;
  const problem = useSignal("");
  const wallets = session.injected.value;
  // A test key is made only if the node reports the configured chain.
  const mayMakeKey = isDevelopmentChain && nodeChainId === chainId;
  const makeKey = () => {
    try {
      session.useDevelopmentKey();
      model.announce("Your test account is open.", { isSpoken: true });
    } catch (thrown) {
      problem.value = explain(thrown).text; // no key is kept: the browser stores no more
    }
  };
  const connect = (wallet: typeof wallets[number]) => {
    problem.value = "";
    session.connect(wallet).catch((thrown) => problem.value = explain(thrown).text);
  };
  const connects = wallets.map((wallet) => (
    <button
      key={wallet.id}
      type="button"
      class={isDevelopmentChain ? "" : "primary"}
      data-next={!isDevelopmentChain || undefined}
      onClick={() => connect(wallet)}
    >
      Connect {wallet.name}
    </button>
  ));
  return (
    <Card title={session.hasKey ? "Your account" : "1. Open an account"}>
      {isDevelopmentChain || wallets.length > 0
        ? (
          <div class="action-bar">
            <p class="bar-note note">{nodeObstacle({ nodeChainId, chainId })?.text}</p>
            {isDevelopmentChain
              ? (
                <button
                  type="button"
                  class="primary"
                  data-next
                  disabled={!mayMakeKey}
                  onClick={makeKey}
                >
                  {session.hasKey ? "Use your" : "Make a"} test account
                </button>
              )
              : connects}
            <p class="failure" role="alert">{problem.value}</p>
          </div>
        )
        : (
          <p class="note">
            To bet, install a browser wallet. You can look at prices and draw boxes without one.
          </p>
        )}
      {isDevelopmentChain && (
        <>
          <p class="note">
            A test account is a key for this development chain, kept in this browser. Never send
            anything of value to it.
          </p>
          {connects}
        </>
      )}
    </Card>
  );
}

function Money({ model, user }: { model: PageModel; user: User }) {
  const account = user.portfolio.account.value;
  const wrongChain = chainObstacle(user.walletChainId.value, model.config.chainId);
  const isEmpty = account?.balance === 0n;
  return (
    <Card title={isEmpty ? "2. Take money to bet with" : "Account"} data-account>
      <dl class="facts">
        <Fact label="Balance">{formatUsdc(account?.balance)}</Fact>
        <Fact label="In open bets">{formatUsdc(account?.locked)}</Fact>
        <Fact label={walletNameOf(user)}>
          <code title={user.address}>{shortAddress(user.address)}</code>
        </Fact>
      </dl>
      {wrongChain !== undefined && isEmpty
        ? (
          <div class="action-bar">
            <p class="bar-note note">{wrongChain.text}</p>
            <button
              type="button"
              class="primary"
              data-next
              onClick={() => model.session.switchChain()}
            >
              {wrongChain.button}
            </button>
          </div>
        )
        : <Deposit model={model} user={user} isFirst={isEmpty} />}
      <button type="button" class="start" onClick={() => model.session.leave()}>
        {user.wallet === undefined ? "Leave this account" : "Disconnect"}
      </button>
    </Card>
  );
}

function Deposit({ model, user, isFirst }: { model: PageModel; user: User; isFirst: boolean }) {
  const amount = useSignal("1000");
  const isBusy = useSignal(false);
  const problem = useSignal("");
  const isTest = model.config.isDevelopmentChain;
  const deposit = async (event: Event) => {
    event.preventDefault();
    if (isBusy.value) return;
    const units = tryParseDecimal(amount.value);
    if (units === undefined) {
      problem.value = `${numberError(amount.value, "an amount", "of at least 0.000001")}.`;
      return void model.announce(problem.value, { isSpoken: true, isAnswer: true });
    }
    isBusy.value = true;
    problem.value = "";
    model.announce("Depositing …", { isSpoken: true });
    try {
      await user.portfolio.deposit(units);
      model.announce(`${formatUsdc(units)} arrived.`);
    } catch (thrown) {
      model.announce(explainDeposit(thrown)); // the amount is right
    }
    isBusy.value = false;
  };
  const form = (
    <form onSubmit={deposit}>
      <label class="field">
        {isTest ? "Test USDC" : "USDC"}
        <input
          inputMode="decimal"
          value={amount.value}
          aria-invalid={problem.value !== ""}
          aria-describedby="deposit-problem"
          onInput={(event) => {
            amount.value = event.currentTarget.value;
            problem.value = "";
          }}
        />
      </label>
      <div class={isFirst ? "action-bar" : ""}>
        <button
          type="submit"
          class={isFirst ? "primary" : ""}
          data-next={isFirst || undefined}
          // Not `disabled`, so that it keeps the focus.
          aria-disabled={isBusy.value}
        >
          {isBusy.value ? "Depositing …" : isTest ? "Take test money" : "Deposit"}
        </button>
      </div>
      <p class="failure" id="deposit-problem">{problem.value}</p>
    </form>
  );
  if (isFirst) return form;
  return (
    <details>
      <summary>{isTest ? "Take more test money" : "Deposit"}</summary>
      {form}
    </details>
  );
}

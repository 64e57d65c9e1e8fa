import { Fact } from "../fact.tsx";
import { formatAmount } from "../format.ts";
import { breakEvenOf, oddsOf, payoutText, type Priced } from "./odds.ts";

interface TermsProps {
  /** The maker's estimate or quote, and the least payout that the user accepts; undefined for none. */
  offered: Priced & { least: bigint } | undefined;
  /** Shown once it is no longer in a field. */
  betAmount?: bigint;
}

/** What a bet pays and its chance, at the same place before and while it is signed. */
export function Terms({ offered, betAmount }: TermsProps) {
  const odds = offered && oddsOf(offered, undefined);
  return (
    <dl class="terms" id="terms">
      <Fact label="You get">
        <strong class={offered && "figure"} data-payout={offered?.payout.toString()}>
          {offered ? payoutText(offered) : "–"}
        </strong>
        {offered && " "}
        {offered && <span class="note">USDC</span>}
      </Fact>
      {betAmount !== undefined && <Fact label="You bet">{formatAmount(betAmount)}</Fact>}
      <Fact label="Odds">{odds?.multiplier ?? "–"}</Fact>
      <Fact label="Chance">{odds?.chance ?? "–"}</Fact>
      <Fact label="Break-even">{offered ? breakEvenOf(offered, offered.least) : "–"}</Fact>
    </dl>
  );
}

import { Fact } from "../parts/parts.tsx";
import { formatAmount, formatCents, formatUsdc } from "../parts/format.ts";
import { breakEvenOf, chanceText, multiplierOf, type Priced } from "./odds.ts";

interface TermsProps {
  /** The maker's estimate or quote; undefined for none. */
  offered: Priced | undefined;
  /** What the bet pays at least, if the odds change until it is placed. */
  least: bigint | undefined;
  /** Shown once it is no longer in a field. */
  betAmount?: bigint;
}

/** The least payout that a change of the odds may leave: a bet never pays less than its stake. */
export function leastOf(
  { payout, betAmount }: Pick<Priced, "payout" | "betAmount">,
  tolerancePercent: number,
): bigint {
  const least = payout * BigInt(100 - tolerancePercent) / 100n;
  return least > betAmount ? least : betAmount;
}

/** What a bet pays and its chance, at the same place before and while it is signed. */
export function Terms({ offered, least, betAmount }: TermsProps) {
  const { probability } = offered ?? {};
  return (
    <dl class="terms" id="terms">
      <Fact label="You get">
        <strong
          class={offered && "figure"}
          title={offered && formatUsdc(offered.payout)}
          data-payout={offered?.payout.toString()}
        >
          {offered ? formatCents(offered.payout) : NONE}
        </strong>
        {offered && " "}
        {offered && (
          <span class="note">
            USDC{least !== undefined && least < offered.payout &&
              `, at least ${formatCents(least)}`}
          </span>
        )}
      </Fact>
      {betAmount !== undefined && <Fact label="You bet">{formatAmount(betAmount)}</Fact>}
      <Fact label="Odds">{offered ? multiplierOf(offered) : NONE}</Fact>
      <Fact label="Chance">{probability === undefined ? NONE : chanceText(probability)}</Fact>
      <Fact label="Break-even">{offered ? breakEvenOf(offered) : NONE}</Fact>
    </dl>
  );
}

/** Nothing to speak. */
const NONE = <span aria-hidden="true">–</span>;

/** The results of one round of the load generator, with the CPU time of each process in ms. */
export interface Round {
  readonly calls: number;
  readonly p50?: number;
  readonly p99?: number;
  readonly perSecond: number;
  readonly cpu: Readonly<Record<string, number>>;
  readonly wrong: Readonly<Record<string, number>>;
}

/** A gateway, or the provider itself; `lacks`: kinds of calls it does not support, with the reason. */
export interface Side {
  readonly name: string;
  readonly version?: string;
  readonly lacks?: Readonly<Record<string, string>>;
}

/** The figures of one side for one case and number of callers, in ms. */
export interface Figures {
  readonly p50: number | undefined;
  readonly addedP50: number;
  readonly perSecond: number;
  readonly cpuMs: number;
}

interface Call {
  readonly kind: string;
  readonly title: string;
}

export function figuresOf(
  results: ReadonlyMap<{ readonly side: Side }, readonly Round[]>,
  provider: Side,
): Map<string, Figures>;

export function report(found: {
  readonly sides: readonly Side[];
  readonly provider: Side;
  readonly measured: readonly {
    readonly call: Call;
    readonly callers: number;
    readonly figures: Map<string, Figures>;
  }[];
  readonly problems: readonly { readonly side: Side; readonly call: Call; readonly reason: string }[];
  readonly missing: readonly { readonly name: string; readonly reason: string }[];
  readonly memory: ReadonlyMap<Side, { readonly idle: number; readonly most: number }>;
  readonly killed: readonly {
    readonly side: Side;
    readonly what: string;
    readonly calls: number;
    readonly inFlight: number;
    readonly answered: number;
    readonly paid: number;
    readonly restartMs: number;
    readonly outcomes: readonly string[];
  }[];
}): {
  readonly rows: readonly (readonly (string | number)[])[];
  readonly facts: readonly string[];
  readonly goals: readonly { readonly text: string; readonly value: string; readonly met: boolean }[];
  readonly summary: string;
};

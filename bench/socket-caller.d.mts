/** A keep-alive HTTP connection that makes one call at a time. */
export class SocketCaller {
  static open(port: number): Promise<SocketCaller>;
  call(request: string, done: (error: Error | undefined, status: number, text: string) => void): void;
  close(): void;
}

export function requestText(request: {
  readonly method: string;
  readonly path: string;
  readonly apiKey: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, unknown>> & { readonly image: Buffer };
}): string;

export function bodyOf(answer: string): string;

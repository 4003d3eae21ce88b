/** The part of oidc-provider, which has no types, that the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  export interface Context {
    readonly path: string;
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly oidc?: { readonly route?: string; readonly client: { clientId: string }; session: { accountId: string } };
    respond: boolean;
    body: unknown;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (of: { clientId: string; accountId: string }) => {
      addOIDCScope(scope: string): void;
      save(): Promise<string>;
    };
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>;
    callback(): RequestListener;
  }
}

import type { ProviderImageRequest } from '#providers/image-provider.js';
import { SandboxProvider } from '#providers/sandbox/sandbox-provider.js';
import { describeImageProvider, type Behaviour } from '../support/image-provider-suite.js';

const DIRECTIVES: Readonly<Record<Behaviour, string>> = {
  picture: '',
  moderation: '[[fault=moderation]]',
  'rate-limit': '[[fault=http-429]]',
  failure: '[[fault=http-500]]',
  'no-picture': '[[fault=empty]]',
  hang: '[[fault=hang]]',
};

describe('the sandbox as a provider', () => {
  describeImageProvider({
    provider: () => new SandboxProvider(),
    behave: async (behaviour, order): Promise<ProviderImageRequest> => ({
      ...order,
      prompt: `${order.prompt} ${DIRECTIVES[behaviour]}`,
    }),
    begun: () => Promise.resolve(),
  });
});

import type { ProviderImageRequest } from '#providers/image-provider.js';
import { SandboxProvider } from '#providers/sandbox/sandbox-provider.js';
import { describeImageProvider, type Behavior } from '../support/image-provider-suite.js';

const DIRECTIVES: Readonly<Record<Behavior, string>> = {
  image: '',
  moderation: '[[fault=moderation]]',
  'rate-limit': '[[fault=http-429]]',
  failure: '[[fault=http-500]]',
  'no-image': '[[fault=empty]]',
  hang: '[[fault=hang]]',
};

describe('the sandbox as a provider', () => {
  describeImageProvider({
    provider: () => new SandboxProvider(),
    behave: async (behavior, order): Promise<ProviderImageRequest> => ({
      ...order,
      prompt: `${order.prompt} ${DIRECTIVES[behavior]}`,
    }),
    begun: () => Promise.resolve(),
  });
});

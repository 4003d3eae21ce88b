import type { IncomingMessage } from 'node:http';
import { inDeployment, openAiUrl } from './azure-paths.js';

const request = (): IncomingMessage => ({}) as IncomingMessage;

it.each([
  ['/openai/v1/images/generations', '/v1/images/generations'],
  ['/openai/v1/responses?api-version=preview', '/v1/responses?api-version=preview'],
  ['/openai/responses/resp_1', '/v1/responses/resp_1'],
  ['/openai/deployments/draws/images/edits?api-version=1', '/v1/images/edits?api-version=1'],
  ['/v1/images/generations', '/v1/images/generations'],
  ['/openai', '/openai'],
  ['/openairs/v1/models', '/openairs/v1/models'],
  ['/openai/deployments', '/v1/deployments'],
])('finds %s at %s', (url, expected) => {
  expect(openAiUrl(request(), url)).toBe(expected);
});

it('names the model of a body without one', () => {
  const asked = request();
  openAiUrl(asked, '/openai/deployments/my%20draws/images/generations');
  expect(inDeployment(asked, { prompt: 'x' })).toEqual({ prompt: 'x', model: 'my draws' });
  expect(inDeployment(asked, { prompt: 'x', model: null })).toEqual({ prompt: 'x', model: 'my draws' });
  expect(inDeployment(asked, { prompt: 'x', model: 'own' })).toEqual({ prompt: 'x', model: 'own' });
  expect(inDeployment(asked, ['x'])).toEqual(['x']);
  expect(inDeployment(request(), { prompt: 'x' })).toEqual({ prompt: 'x' });
  const odd = request();
  openAiUrl(odd, '/openai/deployments/%E0/images/generations');
  expect(inDeployment(odd, {})).toEqual({ model: '%E0' });
});

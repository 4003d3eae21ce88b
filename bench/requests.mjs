import { requestText } from './socket-caller.mjs';

const PROMPT = 'A lighthouse at dawn, soft pink clouds over a quiet sea, painted in watercolor';

/** A generation with a typical prompt and default options. */
export function generation(apiKey, { asynchronous = false, ...fields } = {}) {
  return requestText({
    method: 'POST',
    path: `/v1/images/generations${asynchronous ? '/async' : ''}`,
    apiKey,
    body: { model: 'gpt-image-2', prompt: PROMPT, size: 'auto', ...fields },
  });
}

export function poll(apiKey, taskId) {
  return requestText({ method: 'GET', path: `/v1/tasks/${taskId}`, apiKey });
}

import createClient from 'openapi-fetch';
import type { paths } from '../dist/src/openapi-typescript.js';
import { firstImage, MODEL, unexpected, WAIT, type Calls } from './calls.js';

/** openapi-fetch leaves forms to its callers. */
function formOf(fields: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) for (const part of [value].flat()) form.append(name, part);
  return form;
}

export function connect(url: string, key: string): Calls {
  const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } });
  return {
    generate: async (prompt) => {
      const { data, error } = await client.POST('/v1/images/generations', { body: { model: MODEL, prompt } });
      if (data === undefined || typeof data === 'string') throw unexpected(error);
      return firstImage(data);
    },
    edit: async (prompt, imageUrls) => {
      const images = imageUrls.map((image_url) => ({ image_url }));
      const { data, error } = await client.POST('/v1/images/edits', { body: { model: MODEL, prompt, images } });
      if (data === undefined || typeof data === 'string') throw unexpected(error);
      return firstImage(data);
    },
    editFiles: async (prompt, images, mask) => {
      const { data, error } = await client.POST('/v1/images/edits', {
        body: { model: MODEL, prompt, image: [...images], mask },
        bodySerializer: formOf,
      });
      if (data === undefined || typeof data === 'string') throw unexpected(error);
      return firstImage(data);
    },
    upload: async (file) => {
      const { data, error } = await client.POST('/v1/uploads/images', { body: { file }, bodySerializer: formOf });
      if (data === undefined) throw unexpected(error);
      return data.url;
    },
    poll: async (prompt) => {
      const { data, error } = await client.POST('/v1/images/generations/async', { body: { model: MODEL, prompt } });
      if (data === undefined || !('task_id' in data)) throw unexpected(error);
      const params = { path: { taskId: data.task_id }, query: { wait: WAIT } };
      for (;;) {
        const { data: answer, error } = await client.GET('/v1/tasks/{taskId}', { params });
        if (answer === undefined) throw unexpected(error);
        const { status, result } = answer.data;
        if (status === 'completed') return { url: result?.images[0]?.url[0] };
        if (status !== 'pending') throw unexpected(answer);
      }
    },
  };
}

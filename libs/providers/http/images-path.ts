/** Below a base URL, where OpenAI's Images API and those like it take orders of new images. */
export const IMAGES_PATH = '/images/generations';

/** Where OpenAI's Images API and similar APIs accept orders of new images, relative to the base URL. */
export const IMAGES_PATH = '/images/generations';

/** The form of a region's name: the operator's words, such as `eu` or `swedencentral`. */
export const REGION_NAME = '^[a-z0-9][a-z0-9-]{0,31}$';

/** Request header that pins a request to a region. */
export const REGION_HEADER = 'x-darkroom-region';

/** The version of this API, which a manifest's `apiVersion` range is about. */
export const API_VERSION = "0.3.0";

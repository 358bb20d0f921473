"""The inference server over llama.cpp with stale-answer replay. Other packages import `engine.wire` only."""

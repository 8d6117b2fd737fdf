// Reloads the page that `plugin-bridge dev` serves, after each build.

const { build } = document.currentScript.dataset;
const builds = new EventSource("builds");

builds.onmessage = ({ data }) => {
  if (data === build) {
    return;
  }
  try {
    // A page that receives this is not frozen, however soon after its start it leaves.
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith("plugin-bridge.starting:")) {
        localStorage.removeItem(key);
      }
    }
  } finally {
    location.reload();
  }
};

// It never connects again: what answers at this address later may be another program.
builds.onerror = () => builds.close();

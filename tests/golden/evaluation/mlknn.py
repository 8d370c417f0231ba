# mlknn.csv: scikit-multilearn 0.2.0 on continuous data (no distance ties).
import numpy as np, scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
import skmultilearn.adapt.mlknn as M
M.NearestNeighbors = lambda k: NearestNeighbors(n_neighbors=k)    # its positional call fails since scikit-learn 1.0
rng=np.random.default_rng(1)
n,d,L,k=60,4,5,7
X=np.round(rng.standard_normal((n,d)),3); W=rng.standard_normal((d,L)); Y=((X@W+rng.standard_normal((n,L)))>.3).astype(int)
T=np.round(rng.standard_normal((20,d)),3)
out=open("mlknn.csv","w")
def rows(kind,A):
    for r in A: print(kind,*["%.10g"%v for v in r],sep=",",file=out)
rows("x",X); rows("y",Y); rows("new",T)
def textbook(X,Y,T,k,s=1.0):                                      # the published algorithm, word by word
    D=((X[:,None]-X[None])**2).sum(-1); np.fill_diagonal(D,np.inf)
    C=Y[np.argsort(D,1,kind="stable")[:,:k]].sum(1); n=len(X)
    prior=(s+Y.sum(0))/(2*s+n)
    h=lambda b:np.array([[(s+((Y[:,j]==b)&(C[:,j]==r)).sum())/(s*(k+1)+(Y[:,j]==b).sum()) for r in range(k+1)] for j in range(Y.shape[1])])
    P1,P0=h(1),h(0)
    c=Y[np.argsort(((T[:,None]-X[None])**2).sum(-1),1,kind="stable")[:,:k]].sum(1)
    J=np.arange(Y.shape[1]); a=prior*P1[J,c]; b=(1-prior)*P0[J,c]
    return a/(a+b)
rows("published",textbook(X,Y,T,k))
m=M.MLkNN(k=k,s=1.0).fit(X,sp.csr_matrix(Y))
rows("scikit-multilearn",m.predict_proba(T).toarray()); rows("scikit-multilearn-labels",m.predict(T).toarray())
